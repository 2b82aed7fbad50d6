/*
 * What cppcheck, which reads no system header, must know of <sys/queue.h>.
 */
#ifndef TESTS_LAYERS_QUEUE_H
#define TESTS_LAYERS_QUEUE_H

#define TAILQ_FOREACH(each, head, field) for ((each) = (head)->tqh_first; (each); (each) = (each)->field.tqe_next)

#endif
