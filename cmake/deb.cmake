# Read by cpack as it makes a package.  Policy wants a maintainer: whoever builds one
# says so, as Debian's own tools ask for it.  The project has no address.
if(NOT "$ENV{DEBFULLNAME}" STREQUAL "" AND NOT "$ENV{DEBEMAIL}" STREQUAL "")
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "unset <unset@canzona.invalid>")
  message(NOTICE "The package has no maintainer: before it goes to others, set "
    "DEBFULLNAME and DEBEMAIL")
endif()
