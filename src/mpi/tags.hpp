#pragma once
// Tags of the messages of this layer, each of one exchange: its messages meet no others. Layers
// above have 200 and more.

namespace tessera::inline v1::mpi::tag {

inline constexpr int transfer = 101;
inline constexpr int exchange = 102;
inline constexpr int probe = 103;
inline constexpr int chain = 104;
inline constexpr int sum = 105;
inline constexpr int gather = 106;
inline constexpr int scan = 107;
inline constexpr int repeated = 108;
inline constexpr int device = 109;
inline constexpr int root_alone = 110;
inline constexpr int place = 111;
inline constexpr int copied = 112;

}  // namespace tessera::inline v1::mpi::tag
