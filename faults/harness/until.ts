export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms))

/** Polls a condition. Returns true if the condition became true within the limit. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  limitMs: number,
  everyMs = 50,
): Promise<boolean> {
  for (const end = Date.now() + limitMs; Date.now() < end; await sleep(everyMs))
    if (await condition()) return true
  return false
}
