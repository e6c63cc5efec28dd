#pragma once
// The version of the library, also for C (tessera.h); CMakeLists.txt reads it here.

#define TESSERA_VERSION_MAJOR 0
#define TESSERA_VERSION_MINOR 1
#define TESSERA_VERSION_PATCH 0
/// The version as one number that grows: 102 for 0.1.2.
#define TESSERA_VERSION_NUMBER \
  (TESSERA_VERSION_MAJOR * 10000 + TESSERA_VERSION_MINOR * 100 + TESSERA_VERSION_PATCH)

#define TESSERA_TEXT_OF_(x) #x
#define TESSERA_TEXT_OF(x) TESSERA_TEXT_OF_(x)
/// The version as text: "0.1.2".
#define TESSERA_VERSION                  \
  TESSERA_TEXT_OF(TESSERA_VERSION_MAJOR) \
  "." TESSERA_TEXT_OF(TESSERA_VERSION_MINOR) "." TESSERA_TEXT_OF(TESSERA_VERSION_PATCH)
