// SPDX-License-Identifier: BSD-2-Clause
/*
 * train - a toy that learns, marked the way a training loop is.
 *
 *	loader --batch--> trainer (main)
 *
 * It fits a polynomial by gradient descent: EPOCHS times over BATCHES batches, which another thread
 * makes. Each epoch ends with an evaluation.
 *
 *	proftrace -- train 3 10
 *	proftrace --schedule wait=2,warmup=1,active=2,repeat=1 -o 'train-{epoch}-{cycle}' -- train 3 20
 *
 * Each marker stands where a real program would want it. Copy from here.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <proftrace.h>

PROF_DOMAIN(training, "train");
PROF_DEFAULT_DOMAIN(training);

/* A task is a piece of work that several functions take part in; markers are its parts. */
PROF_TASK(batch_task, training, "batch");
PROF_MARKER(forward, training, "forward", .categories = "compute");
PROF_MARKER(backward, training, "backward", .categories = "compute");
/* Not recorded while a schedule warms up. */
PROF_MARKER(update, training, "update", .categories = "compute,memory",
	    .actions = PROF_ON_ACTIVE | PROF_ON_ACTIVE_AND_SAVE);
/* Also records an instant at both ends, which is easier to find than a short slice. */
PROF_MARKER(checkpoint, training, "checkpoint", .categories = "io", .instant_on_start = 1,
	    .instant_on_finish = 1);
/* Each batch of the loader is a frame. */
PROF_FRAME(loading, training, "loading");

enum {
	LAYERS = 3,
	SAMPLES = 512,
};

struct batch {
	double x[SAMPLES], y[SAMPLES];
	unsigned long number;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct batch *batch; /* NULL: already taken */
} shelf = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL };

static unsigned long epochs = 3, batches = 10;
static double weights[LAYERS];

static struct batch *make_batch(unsigned long number)
{
	struct batch *batch = malloc(sizeof(*batch));

	if (!batch)
		exit(1);
	PROF_ALLOC("batches", batch, sizeof(*batch));
	batch->number = number;
	for (int i = 0; i < SAMPLES; i++) {
		batch->x[i] = (i - SAMPLES / 2.0) / SAMPLES;
		batch->y[i] = 1 - 2 * batch->x[i] + 3 * batch->x[i] * batch->x[i];
	}
	return batch;
}

static void free_batch(struct batch *batch)
{
	PROF_FREE("batches", batch);
	free(batch);
}

static void *load(void *unused)
{
	PROF_THREAD_NAME("loader");
	for (unsigned long i = 1; i <= epochs * batches; i++) {
		struct batch *batch;

		prof_frame_start(&loading);
		/* Inside the scope, memory is counted separately: this pool is "loader:batches". */
		prof_scope_push("loader");
		batch = make_batch(i);
		prof_scope_pop();
		prof_frame_stop(&loading);

		PROF_SCOPE("put on the shelf", "batch", i);
		pthread_mutex_lock(&shelf.lock);
		while (shelf.batch)
			pthread_cond_wait(&shelf.changed, &shelf.lock);
		shelf.batch = batch;
		PROF_FLOW_OUT(i); /* an arrow to the thread that takes the batch */
		pthread_cond_broadcast(&shelf.changed);
		pthread_mutex_unlock(&shelf.lock);
	}
	return unused;
}

static struct batch *take(void)
{
	struct batch *batch;

	PROF_FUNCTION();
	pthread_mutex_lock(&shelf.lock);
	while (!shelf.batch)
		pthread_cond_wait(&shelf.changed, &shelf.lock);
	batch = shelf.batch;
	shelf.batch = NULL;
	pthread_cond_broadcast(&shelf.changed);
	pthread_mutex_unlock(&shelf.lock);
	PROF_FLOW_IN(batch->number);
	return batch;
}

static double predict(double x)
{
	return weights[0] + weights[1] * x + weights[2] * x * x;
}

/* Run-time names are looked up once and kept. */
static const prof_marker_t *layer(int i)
{
	static const prof_marker_t *markers[LAYERS];
	char name[16];

	if (!markers[i]) {
		snprintf(name, sizeof(name), "layer %d", i);
		markers[i] = prof_marker_get(name, "compute");
	}
	return markers[i];
}

static double loss_of(const struct batch *batch, double gradient[LAYERS])
{
	double loss = 0;

	PROF_MARKER_SCOPE(&forward);
	for (int l = 0; l < LAYERS; l++) {
		prof_marker_start(layer(l));
		for (int i = 0; i < SAMPLES; i++) {
			double error = predict(batch->x[i]) - batch->y[i];

			gradient[l] += 2 * error * pow(batch->x[i], l) / SAMPLES;
			loss += l ? 0 : error * error / SAMPLES;
		}
		prof_marker_finish(layer(l));
	}
	return loss;
}

static void learn(const struct batch *batch)
{
	double gradient[LAYERS] = { 0 }, norm = 0, loss;

	prof_task_start(&batch_task);
	loss = loss_of(batch, gradient);

	prof_marker_start(&backward);
	for (int l = 0; l < LAYERS; l++)
		norm += gradient[l] * gradient[l];
	prof_marker_counter(&backward, "norm", sqrt(norm));
	if (norm > 1)
		/* An instant of the whole process, not only of this thread. */
		prof_marker_mark(&backward, PROF_SCOPE_PROCESS);
	prof_marker_finish(&backward);

	prof_marker_start(&update);
	for (int l = 0; l < LAYERS; l++)
		weights[l] -= 0.5 * gradient[l];
	prof_marker_finish(&update);
	prof_task_stop(&batch_task);
	PROF_COUNTERS("progress", "loss", loss, "first weight", weights[0]);
}

static double evaluate(void)
{
	struct batch *batch = make_batch(0);
	double worst = 0;

	PROF_FUNCTION();
	for (int i = 0; i < SAMPLES; i++)
		worst = fmax(worst, fabs(predict(batch->x[i]) - batch->y[i]));
	free_batch(batch);
	return worst;
}

static void save(unsigned long epoch)
{
	prof_marker_start(&checkpoint);
	PROF_INSTANT("weights", "w0", weights[0], "w1", weights[1], "w2", weights[2]);
	prof_marker_finish(&checkpoint);
	if (epoch == 1)
		prof_dump(); /* write everything so far to disk before the long part begins */
}

int main(int argc, char **argv)
{
	pthread_t loader;

	if (argc > 1)
		epochs = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		batches = strtoul(argv[2], NULL, 0);
	if (argc > 3)
		prof_include_chrome_json(argv[3]); /* the trace of another profiler of this run */
	if (pthread_create(&loader, NULL, load, NULL))
		return 1;
	for (unsigned long e = 1; e <= epochs; e++) {
		double worst;

		for (unsigned long b = 1; b <= batches; b++) {
			struct batch *batch;

			/* Later events have both as arguments, and schedules count the steps. */
			PROF_STEP(e, b);
			batch = take();
			learn(batch);
			free_batch(batch);
		}
		/* Leave this out of the trace. */
		prof_pause();
		worst = evaluate();
		prof_resume();
		worst = PROF_CALL("round", round(1000 * worst) / 1000);
		PROF_COUNTER("worst error", worst);
		save(e);
	}
	pthread_join(loader, NULL);
	prof_stop(); /* do not record the rest */
	printf("weights %.3f %.3f %.3f\n", weights[0], weights[1], weights[2]);
	return 0;
}
