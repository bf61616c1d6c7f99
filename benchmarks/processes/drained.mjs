import { usage } from './answer.mjs'

/** What it took to deliver all but the first `uncounted`, of which `made` says how many it was. */
export async function drained(delivered, { uncounted, deliveries }) {
  await reached(delivered, uncounted)
  const [before, from] = [usage(), delivered()]
  await reached(delivered, deliveries)
  return { before, after: usage(), made: deliveries - from }
}

async function reached(delivered, count) {
  while (delivered() < count) await new Promise((resolve) => setTimeout(resolve, 1))
}
