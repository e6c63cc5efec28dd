#ifndef TESSERA_SCALAPACK_H
#define TESSERA_SCALAPACK_H
/* Routines of ScaLAPACK in libtessera_scalapack: Fortran symbols, which a program finds instead of
   ScaLAPACK's if the library precedes it on the link line or in LD_PRELOAD. s, d, c, z, i: float,
   double, complex of these, and int, to which the untyped pointers point. Descriptors, which have 9
   or 11 entries, refer to BLACS contexts; matrices are column-major. Arguments that are wrong end
   the job, as in the PBLAS (ScaLAPACK Users' Guide, Blackford et al. 1997). Each call is collective
   over the context. */

#ifdef __cplusplus
extern "C" {
#endif

/* sub(C) = alpha op(sub(A)) op(sub(B)) + beta sub(C), op by transa and transb: N, T or C */
void psgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
             const void* alpha, const void* a, const int* ia, const int* ja, const int* desca,
             const void* b, const int* ib, const int* jb, const int* descb, const void* beta,
             void* c, const int* ic, const int* jc, const int* descc);
void pdgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
             const void* alpha, const void* a, const int* ia, const int* ja, const int* desca,
             const void* b, const int* ib, const int* jb, const int* descb, const void* beta,
             void* c, const int* ic, const int* jc, const int* descc);
void pcgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
             const void* alpha, const void* a, const int* ia, const int* ja, const int* desca,
             const void* b, const int* ib, const int* jb, const int* descb, const void* beta,
             void* c, const int* ic, const int* jc, const int* descc);
void pzgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
             const void* alpha, const void* a, const int* ia, const int* ja, const int* desca,
             const void* b, const int* ib, const int* jb, const int* descb, const void* beta,
             void* c, const int* ic, const int* jc, const int* descc);

/* sub(C) = alpha op(sub(A)) + beta sub(C): op transposes, and with tranc also conjugates */
void pstran_(const int* m, const int* n, const void* alpha, const void* a, const int* ia,
             const int* ja, const int* desca, const void* beta, void* c, const int* ic,
             const int* jc, const int* descc);
void pdtran_(const int* m, const int* n, const void* alpha, const void* a, const int* ia,
             const int* ja, const int* desca, const void* beta, void* c, const int* ic,
             const int* jc, const int* descc);
void pctranu_(const int* m, const int* n, const void* alpha, const void* a, const int* ia,
              const int* ja, const int* desca, const void* beta, void* c, const int* ic,
              const int* jc, const int* descc);
void pztranu_(const int* m, const int* n, const void* alpha, const void* a, const int* ia,
              const int* ja, const int* desca, const void* beta, void* c, const int* ic,
              const int* jc, const int* descc);
void pctranc_(const int* m, const int* n, const void* alpha, const void* a, const int* ia,
              const int* ja, const int* desca, const void* beta, void* c, const int* ic,
              const int* jc, const int* descc);
void pztranc_(const int* m, const int* n, const void* alpha, const void* a, const int* ia,
              const int* ja, const int* desca, const void* beta, void* c, const int* ic,
              const int* jc, const int* descc);

/* sub(B) = sub(A), between two grids in the context; where a process is in one of them only, the
   context in the other descriptor is -1 */
void psgemr2d_(const int* m, const int* n, const void* a, const int* ia, const int* ja,
               const int* desca, void* b, const int* ib, const int* jb, const int* descb,
               const int* context);
void Cpsgemr2d(int m, int n, const void* a, int ia, int ja, const int* desca, void* b, int ib,
               int jb, const int* descb, int context);
void pdgemr2d_(const int* m, const int* n, const void* a, const int* ia, const int* ja,
               const int* desca, void* b, const int* ib, const int* jb, const int* descb,
               const int* context);
void Cpdgemr2d(int m, int n, const void* a, int ia, int ja, const int* desca, void* b, int ib,
               int jb, const int* descb, int context);
void pcgemr2d_(const int* m, const int* n, const void* a, const int* ia, const int* ja,
               const int* desca, void* b, const int* ib, const int* jb, const int* descb,
               const int* context);
void Cpcgemr2d(int m, int n, const void* a, int ia, int ja, const int* desca, void* b, int ib,
               int jb, const int* descb, int context);
void pzgemr2d_(const int* m, const int* n, const void* a, const int* ia, const int* ja,
               const int* desca, void* b, const int* ib, const int* jb, const int* descb,
               const int* context);
void Cpzgemr2d(int m, int n, const void* a, int ia, int ja, const int* desca, void* b, int ib,
               int jb, const int* descb, int context);
void pigemr2d_(const int* m, const int* n, const void* a, const int* ia, const int* ja,
               const int* desca, void* b, const int* ib, const int* jb, const int* descb,
               const int* context);
void Cpigemr2d(int m, int n, const void* a, int ia, int ja, const int* desca, void* b, int ib,
               int jb, const int* descb, int context);

#ifdef __cplusplus
}
#endif

#endif
