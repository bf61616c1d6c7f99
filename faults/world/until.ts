export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms))

/** Whether the condition came true within the limit; looks again every so often. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  limitMs: number,
  everyMs = 50,
): Promise<boolean> {
  for (const end = Date.now() + limitMs; Date.now() < end; await sleep(everyMs))
    if (await condition()) return true
  return false
}
