import { z } from 'zod'

// The shapes of the Open Responses specification (2026-04-24) that text responses use. Every field
// is required there.

const count = z.int().min(0)
const text = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()),
  logprobs: z.array(z.unknown()),
})
const item = z.object({
  type: z.literal('message'),
  id: z.string(),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
  role: z.literal('assistant'),
  content: z.array(text),
})

export const response = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: count,
  completed_at: count.nullable(),
  status: z.string(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(item),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(z.unknown()),
  tool_choice: z.enum(['none', 'auto', 'required']),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.object({ format: z.object({ type: z.literal('text') }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: count,
  temperature: z.number(),
  reasoning: z.null(),
  usage: z
    .object({
      input_tokens: count,
      input_tokens_details: z.object({ cached_tokens: count }),
      output_tokens: count,
      output_tokens_details: z.object({ reasoning_tokens: count }),
      total_tokens: count,
    })
    .nullable(),
  max_output_tokens: count.nullable(),
  max_tool_calls: count.nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.record(z.string(), z.unknown()),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
})

const place = { item_id: z.string(), output_index: count, content_index: count }
const event = <Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) =>
  z.object({ type: z.literal(type), sequence_number: count, ...fields })

export const streamEvent = z.discriminatedUnion('type', [
  event('response.created', { response }),
  event('response.queued', { response }),
  event('response.in_progress', { response }),
  event('response.completed', { response }),
  event('response.failed', { response }),
  event('response.incomplete', { response }),
  event('response.output_item.added', { output_index: count, item }),
  event('response.output_item.done', { output_index: count, item }),
  event('response.content_part.added', { ...place, part: text }),
  event('response.content_part.done', { ...place, part: text }),
  event('response.output_text.delta', { ...place, delta: z.string() }),
  event('response.output_text.done', { ...place, text: z.string() }),
  event('error', {
    error: z.object({
      type: z.string(),
      code: z.string().nullable(),
      message: z.string(),
      param: z.string().nullable(),
    }),
  }),
])
