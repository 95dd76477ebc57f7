/* build.h - which sources this is built of; cmake/build_id.cmake writes it. */
#ifndef CXI_BUILD_H
#define CXI_BUILD_H

extern const char cxi_build_id[];   /* a hash of src and include */
extern const char cxi_build_llvm[]; /* the version found, "none" without */

#endif
