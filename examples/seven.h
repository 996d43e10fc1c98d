/* The picture that the examples from number 14 on recognize: a seven, 8 x 8 pixels from 0 to 1. */
#ifndef SLUICE_EXAMPLES_SEVEN_H_
#define SLUICE_EXAMPLES_SEVEN_H_

static const float kSeven[64] = {0, 0, .5f, 1,   1,   1,   .4f, 0, /**/
                                 0, 0, .7f, .6f, .5f, 1,   .4f, 0, /**/
                                 0, 0, 0,   0,   .3f, 1,   .1f, 0, /**/
                                 0, 0, .2f, .5f, .9f, 1,   .6f, 0, /**/
                                 0, 0, .8f, 1,   1,   .7f, .4f, 0, /**/
                                 0, 0, 0,   .5f, .9f, 0,   0,   0, /**/
                                 0, 0, 0,   1,   .5f, 0,   0,   0, /**/
                                 0, 0, .6f, 1,   .1f, 0,   0,   0};

#endif
