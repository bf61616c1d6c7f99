import { median } from './rows/figures.mjs'

/** Rounds go A B A B, so that a machine that slows down slows everybody. Who fails once is out, and the table says why. */
export async function takeTurns(contenders, rounds) {
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

function medians(samples) {
  const keys = Object.keys(samples[0])
  return Object.fromEntries(keys.map((key) => [key, median(samples.map((sample) => sample[key]))]))
}
