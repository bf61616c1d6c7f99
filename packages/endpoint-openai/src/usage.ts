import type { Message } from '@org/agent-messaging-core'

/** Returns the tokens of the run that answered, or undefined if its runtime reported none. */
function tokensOf({ state }: Message) {
  if (state.kind !== 'responded' || !state.usage) return undefined
  const { inputTokens: input = 0, outputTokens: output = 0 } = state.usage
  return { input, output, total: input + output }
}

/** The `usage` of a response. Runs do not report the details, which clients require. */
export function responseUsage(message: Message) {
  const tokens = tokensOf(message)
  if (!tokens) return null
  return {
    input_tokens: tokens.input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: tokens.total,
  }
}

/** The `usage` of a chat completion. */
export function completionUsage(message: Message) {
  const tokens = tokensOf(message)
  if (!tokens) return undefined
  return {
    prompt_tokens: tokens.input,
    completion_tokens: tokens.output,
    total_tokens: tokens.total,
  }
}
