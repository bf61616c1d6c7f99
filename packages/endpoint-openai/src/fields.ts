import { isJsonObject } from '@org/agent-messaging-core/runtime'
import type { Problem } from './errors.js'

/**
 * - `used`: the endpoint honours the field, and its reader checks the value.
 * - `ignored`: the field has no effect here. The docs list these fields.
 * - A function returns why a value cannot be honoured, or undefined if it asks for nothing.
 */
type Rule = 'used' | 'ignored' | ((value: unknown) => string | undefined)
export type FieldRules = Readonly<Record<string, Rule>>

export const problem = (
  param: string,
  message: string,
  code: Problem['code'] = 'invalid_value',
): Problem => ({ kind: 'problem', param, message, code })

/** Returns the first field that is unknown or cannot be honoured. Null means absent. */
export function fieldProblem(
  body: Readonly<Record<string, unknown>>,
  rules: FieldRules,
): Problem | undefined {
  for (const [name, value] of Object.entries(body)) {
    if (value === null) continue
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === undefined)
      return problem(name, 'is not a parameter of this endpoint', 'unknown_parameter')
    const reason = typeof rule === 'function' ? rule(value) : undefined
    if (reason !== undefined) return problem(name, reason, 'unsupported_parameter')
  }
  return undefined
}

/** Refuses every value. */
const refused = (reason: string) => () => reason
/** Accepts an empty list only. */
const onlyEmpty = (reason: string) => (value: unknown) =>
  Array.isArray(value) && value.length === 0 ? undefined : reason
/** Accepts these values only. */
const only =
  (values: readonly unknown[], reason: string) =>
  (value: unknown): string | undefined =>
    values.includes(value) ? undefined : reason

const OWN_TOOLS = 'is not supported: the agent has its own tools'
const TEXT_ONLY = 'is not supported: the answer of an agent is text'

/** The fields that both APIs have. */
const COMMON: FieldRules = {
  model: 'used',
  stream: 'used',
  user: 'used',
  safety_identifier: 'used',
  metadata: 'used',
  store: 'ignored',
  tools: onlyEmpty(OWN_TOOLS),
  tool_choice: only(['auto', 'none'], OWN_TOOLS),
  top_logprobs: only([0], 'is not supported: agents report no probabilities'),
  temperature: 'ignored',
  top_p: 'ignored',
  presence_penalty: 'ignored',
  frequency_penalty: 'ignored',
  parallel_tool_calls: 'ignored',
  prompt_cache_key: 'ignored',
  prompt_cache_retention: 'ignored',
  service_tier: 'ignored',
}

export const RESPONSE_FIELDS: FieldRules = {
  ...COMMON,
  input: 'used',
  instructions: 'used',
  conversation: 'used',
  previous_response_id: 'used',
  background: 'used',
  include: onlyEmpty('is not supported: a response has no further output'),
  text: 'used',
  prompt: refused('is not supported: there are no prompt templates'),
  context_management: refused('is not supported: the agent manages its context'),
  max_output_tokens: 'ignored',
  max_tool_calls: 'ignored',
  stream_options: 'ignored',
  reasoning: 'ignored',
  truncation: 'ignored',
}

export const CHAT_FIELDS: FieldRules = {
  ...COMMON,
  messages: 'used',
  stream_options: 'used',
  n: only([1], 'must be 1: an agent gives one answer'),
  logprobs: only([false], 'is not supported: agents report no probabilities'),
  response_format: 'used',
  modalities: (value) =>
    Array.isArray(value) && value.every((one) => one === 'text') ? undefined : TEXT_ONLY,
  audio: refused(TEXT_ONLY),
  stop: onlyEmpty('is not supported: the agent decides where its answer ends'),
  logit_bias: (value) =>
    isJsonObject(value) && Object.keys(value).length === 0
      ? undefined
      : 'is not supported: an agent has no tokens to bias',
  functions: onlyEmpty(OWN_TOOLS),
  function_call: only(['auto', 'none'], OWN_TOOLS),
  web_search_options: refused(OWN_TOOLS),
  max_tokens: 'ignored',
  max_completion_tokens: 'ignored',
  reasoning_effort: 'ignored',
  verbosity: 'ignored',
  prediction: 'ignored',
  seed: 'ignored',
}
