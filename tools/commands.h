/* commands.h - the subcommands of calx. */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

/* Each gets its own name as argv[0], prints its help for --help, and returns
 * the exit status: 0 done, 1 failed, 2 used wrongly. */
int command_bench(int argc, char **argv);
int command_cache(int argc, char **argv);
int command_conform(int argc, char **argv);
int command_embed(int argc, char **argv);
int command_import(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_jaxpr(int argc, char **argv);
int command_run(int argc, char **argv);
int command_xl(int argc, char **argv);

/* Prints the kept error, if there is one, to stderr; its exit status. */
int command_status(void);

#endif
