/* xl.h - the commands of `calx xl`; their exit status, as in commands.h. */
#ifndef TOOLS_XL_H
#define TOOLS_XL_H

int xl_train(int argc, char **argv);
int xl_generate(int argc, char **argv);

#endif
