/*
 * The verbs of the command line.
 *
 * Exit: 0 done; 1 the lease was lost; 2 bad usage, settings or kubeconfig; 4 what is needed at the start cannot be reached.
 */
#ifndef CONTROLLER_COMMAND_H
#define CONTROLLER_COMMAND_H

/* `zonevac VERB …` */
int command_run(int count, const char *const *arguments);

#endif
