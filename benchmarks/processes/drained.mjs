import { usage } from './answer.mjs'

/** Returns the usage of all deliveries after the first `uncounted`, and `made`, their number. */
export async function drained(delivered, { uncounted, deliveries }) {
  await reached(delivered, uncounted)
  const before = usage()
  const from = delivered()
  await reached(delivered, deliveries)
  return { before, after: usage(), made: deliveries - from }
}

async function reached(delivered, count) {
  while (delivered() < count) await new Promise((resolve) => setTimeout(resolve, 1))
}
