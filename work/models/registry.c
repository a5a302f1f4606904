/* registry.c: the list of networks. */
#include <string.h>
#include "models/model.h"

const char *const size_name[SIZE_COUNT + 1] = {"tiny", "small", "base", NULL};

extern const struct model model_bert, model_distilbert, model_gpt2, model_resnet18, model_resnet50,
	model_schnet, model_dimenet, model_pna, model_nnconv, model_vgg16, model_inception_v3,
	model_unet;

const struct model *const models[] = {
	&model_vgg16,
	&model_resnet18,
	&model_resnet50,
	&model_inception_v3,
	&model_unet,
	&model_bert,
	&model_distilbert,
	&model_gpt2,
	&model_schnet,
	&model_dimenet,
	&model_pna,
	&model_nnconv,
	NULL,
};

const struct model *model_find(const char *name)
{
	for (int i = 0; models[i]; i++)
		if (!strcmp(models[i]->name, name))
			return models[i];
	return NULL;
}

struct tensor *model_input(struct net *n, const struct batch *b, const char *name)
{
	for (int i = 0; i < b->n; i++)
		if (!strcmp(b->a[i].name, name))
			return net_input(n, b->a[i].name, b->a[i].dt, b->a[i].n_dims, b->a[i].dim);
	return net_fail(n, "the data has no '%s'", name);
}
