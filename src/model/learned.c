/* learned.c: written by tools/learn-constants; do not edit. */
#include "model/learned.h"

const struct learned_factor learned_factors[FACTOR_COUNT] = {
	[FACTOR_WORKERS] =
		{
			.weights =
				{
					{"power", 1.5},
					{"offset", 1},
					{"amdahl", 1.5},
					{"step-ring", 0.5},
					{"pmnf", 0.5},
				},
			.loo_power = 0,
			.loo_floor = 0.01,
			.floor = 0.005,
			.loo = 1,
			.spread = 0.5,
			.gap = 0.01,
			.boot = 0,
			.sigma = 0,
			.max_ratio = 8,
			.q90 = {[QTY_TIME] = 1.187, [QTY_POWER] = 2.853, [QTY_ENERGY] = 4.296},
		},
	[FACTOR_POWER_LIMIT] =
		{
			.weights =
				{
					{"broken", 1},
					{"monotone", 1},
					{"offset", 0.3},
				},
			.loo_power = 0,
			.loo_floor = 0.01,
			.floor = 0.01,
			.loo = 0.5,
			.spread = 1,
			.gap = 0,
			.boot = 1,
			.sigma = 0.5,
			.max_ratio = 1.25,
			.q90 = {[QTY_TIME] = 1.766, [QTY_POWER] = 1.562, [QTY_ENERGY] = 1.645},
		},
	[FACTOR_CLOCK] =
		{
			.weights =
				{
					{"broken", 1},
					{"monotone", 0.5},
					{"offset", 0.5},
				},
			.loo_power = 0,
			.loo_floor = 0.01,
			.floor = 0.01,
			.loo = 0.5,
			.spread = 1,
			.gap = 0,
			.boot = 1,
			.sigma = 0.5,
			.max_ratio = 1.25,
			.q90 = {[QTY_TIME] = 1.606, [QTY_POWER] = 0.841, [QTY_ENERGY] = 1.154},
		},
	[FACTOR_CPU_RATE] =
		{
			.weights =
				{
					{"broken", 1},
					{"monotone", 0.5},
					{"offset", 0.5},
				},
			.loo_power = 0,
			.loo_floor = 0.01,
			.floor = 0.01,
			.loo = 0.5,
			.spread = 1,
			.gap = 0,
			.boot = 1,
			.sigma = 0.5,
			.max_ratio = 1.25,
			.q90 = {[QTY_TIME] = 1.606, [QTY_POWER] = 0.841, [QTY_ENERGY] = 1.154},
		},
};

const struct learned_prior learned_prior = {
	.noise = 0.015,
	.blend = {[QTY_TIME] = 0.5, [QTY_POWER] = 0.7, [QTY_ENERGY] = 1},
	.floor = 0.02,
	.sd = 1,
	.spread = 0.5,
	.q90 = {[QTY_TIME] = 1.774, [QTY_POWER] = 1.252, [QTY_ENERGY] = 1.561},
};
