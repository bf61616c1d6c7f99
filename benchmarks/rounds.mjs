import { median } from './rows/figures.mjs'

/** Measures A B A B, so that a slow machine slows all contenders. A failed contender leaves. */
export async function measureRounds(contenders, rounds) {
  const results = contenders.map(({ role, name, measure }) => ({
    role,
    name,
    measure,
    samples: [],
  }))
  for (let round = 0; round < rounds; round++) {
    for (const contender of results.filter(({ missing }) => missing === undefined))
      await measureOnce(contender)
  }
  return results.map(({ role, name, missing, samples }) => ({
    role,
    name,
    missing,
    sample: missing === undefined ? medians(samples) : undefined,
  }))
}

async function measureOnce(contender) {
  try {
    const sample = await contender.measure()
    contender.samples.push(sample)
    console.error(`  ${contender.role}, ${contender.name}: ${readable(sample)}`)
  } catch (error) {
    contender.missing = error instanceof Error ? error.message : String(error)
    console.error(`  ${contender.role}, ${contender.name}: not measured: ${contender.missing}`)
  }
}

const readable = (sample) =>
  Object.entries(sample)
    .map(([key, value]) => `${key} ${Number(value.toPrecision(3))}`)
    .join(', ')

/** Returns the median of each figure. */
export function medians(samples) {
  const keys = Object.keys(samples[0])
  return Object.fromEntries(keys.map((key) => [key, median(samples.map((sample) => sample[key]))]))
}

/** Returns contenders that one measurement measures, each under its key. */
export function together(measure, contenders) {
  let all
  return contenders.map(({ key, ...contender }, at) => ({
    ...contender,
    measure: async () => {
      if (at === 0) all = measure()
      return (await all)[key]
    },
  }))
}
