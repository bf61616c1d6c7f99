export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Whether the condition came true within the limit; looks again every 50 ms. */
export async function until(condition: () => boolean | Promise<boolean>, limitMs: number): Promise<boolean> {
  for (const end = Date.now() + limitMs; Date.now() < end; await sleep(50)) if (await condition()) return true
  return false
}
