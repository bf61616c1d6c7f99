import type { Message, JsonObject } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { errorOf } from '@org/agent-messaging-core/host'
import { errorObject } from '../errors.js'
import { formatOf } from '../format.js'
import { responseId } from '../ids.js'
import { questionOf } from '../question.js'
import { responseUsage } from '../usage.js'
import { outputOf } from './items.js'

/** The fields of a request that a later read shows again. Stored in the message's metadata. */
export type Kept = {
  readonly background?: true
  readonly previous_response_id?: string
  readonly deleted?: true
}
export const KEPT = 'openai'

/** Returns the message's metadata: the request's texts, and the kept fields if there are any. */
export function metadataOf(
  metadata: Readonly<Record<string, string>> | undefined,
  kept: Kept,
): JsonObject | undefined {
  if (Object.keys(kept).length === 0) return metadata
  return { ...metadata, [KEPT]: { ...kept } }
}

/** A deleted response is hidden. Its message stays. */
export const isDeleted = ({ metadata }: Message): boolean => keptIn(metadata).deleted === true

/** Returns the metadata of the message of a deleted response. */
export const deletedMetadata = ({ metadata }: Message): JsonObject => ({
  ...metadata,
  [KEPT]: { ...keptIn(metadata), deleted: true },
})

function keptIn(metadata: JsonObject | undefined): Kept {
  const kept = metadata?.[KEPT]
  return isJsonObject(kept) ? kept : {}
}

const STATUSES = {
  queued: 'queued',
  running: 'in_progress',
  deferred: 'in_progress',
  input_required: 'incomplete',
  responded: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<Message['state']['kind'], string>

/** Returns OpenAI's response object. `model` is the agent's name. */
export function responseBody(message: Message, model: string) {
  const { state, executionPrincipal, metadata = {} } = message
  const { [KEPT]: _, ...shown } = metadata
  const kept = keptIn(metadata)
  const question = questionOf(message)
  const error = state.kind === 'failed' ? errorOf(state) : undefined
  return {
    id: responseId(message),
    object: 'response' as const,
    created_at: seconds(message.createdAt),
    completed_at: state.kind === 'responded' ? seconds(state.respondedAt) : null,
    status: STATUSES[state.kind],
    error: error ? errorObject({ type: 'server_error', ...error }) : null,
    incomplete_details: question?.details ?? null,
    model,
    conversation: { id: message.sessionId },
    previous_response_id: kept.previous_response_id ?? null,
    background: kept.background ?? false,
    output: outputOf(message, model),
    metadata: shown,
    usage: responseUsage(message),
    safety_identifier: executionPrincipal.type === 'end_user' ? executionPrincipal.endUserId : null,
    ...UNUSED,
    text: { format: formatOf(message.responseSchema) },
  }
}

/** Returns the response as it was before its output, which the next events of a stream bring. */
export function openBody(message: Message, model: string) {
  const body = responseBody(message, model)
  const status = body.status === 'queued' ? ('queued' as const) : ('in_progress' as const)
  const none = {
    error: null,
    incomplete_details: null,
    completed_at: null,
    output: [],
    usage: null,
  }
  return { ...body, ...none, status }
}

const seconds = (instant: number): number => Math.floor(instant / 1_000)

/** Fields that every response must have and that say nothing about an agent. */
const UNUSED = {
  store: true,
  instructions: null,
  tools: [],
  tool_choice: 'none',
  parallel_tool_calls: false,
  max_tool_calls: null,
  max_output_tokens: null,
  truncation: 'disabled',
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  reasoning: null,
  service_tier: 'default',
  prompt_cache_key: null,
} as const
