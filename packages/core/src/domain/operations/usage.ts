/** The tokens of a model that a run used, as its runtime reports them. */
export type RunUsage = { readonly inputTokens?: number; readonly outputTokens?: number }

/** A larger count of tokens is a fault of the runtime. */
const MOST_TOKENS = 1_000_000_000_000

/** Returns the usage that a runtime reported, without fields that are not token counts. */
export function parseRunUsage(given: unknown): RunUsage | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const { inputTokens, outputTokens } = given as Record<string, unknown>
  const usage = {
    ...(isTokenCount(inputTokens) && { inputTokens }),
    ...(isTokenCount(outputTokens) && { outputTokens }),
  }
  return Object.keys(usage).length > 0 ? usage : undefined
}

const isTokenCount = (count: unknown): count is number =>
  Number.isSafeInteger(count) && (count as number) >= 0 && (count as number) <= MOST_TOKENS
