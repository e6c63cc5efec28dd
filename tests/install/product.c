#include <stdio.h>
#include <tessera/tessera.h>

int main(void) {
  const double a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 2, 3, 4, 5, 6};
  double c[4];
  if (tessera_matmul(TESSERA_ROW_MAJOR, TESSERA_F64, TESSERA_NO_TRANS, TESSERA_NO_TRANS, 2, 2, 3,
                     NULL, a, 3, b, 2, NULL, c, 2, NULL) != TESSERA_OK) {
    fprintf(stderr, "%s\n", tessera_error_text());
    return 1;
  }
  printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
  return 0;
}

#if TESSERA_VERSION_NUMBER < 100
#error "tessera.h does not tell its version"
#endif
