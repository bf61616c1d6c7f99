import type { Json } from '@org/agent-messaging-core'
import type { PartEvent } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import type { ToolCall } from './acp-tool-call.js'

/** A report of the agent about a tool call. */
export type CallReport = {
  readonly toolCallId: string
  readonly status?: string | null | undefined
  readonly rawInput?: unknown
  readonly rawOutput?: unknown
  readonly content?: unknown
}

const shown = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('content'),
    content: z.object({ type: z.literal('text'), text: z.string() }),
  }),
  z.object({
    type: z.literal('diff'),
    path: z.string(),
    oldText: z.string().nullish(),
    newText: z.string(),
  }),
])

/**
 * Returns the part events of a report. `call` is all that the agent has reported about the call.
 * The protocol has no name of a tool, so the kind is the name. The service checks the values.
 */
export function partsOfCall(
  { toolCallId, status, rawInput, rawOutput, content }: CallReport,
  { kind = 'other', title }: ToolCall,
  isFirst: boolean,
): PartEvent[] {
  const items = (Array.isArray(content) ? content : []).flatMap(
    (item) => shown.safeParse(item).data ?? [],
  )
  const texts = items.flatMap((item) => (item.type === 'content' ? item.content.text : []))
  const call = { toolCallId, toolName: kind, ...(title !== undefined && { title }) }
  const hasInput = rawInput !== undefined && rawInput !== null
  const output = (rawOutput ?? (texts.length > 0 ? texts.join('\n') : null)) as Json
  const errorText = texts.join('\n') || (typeof output === 'string' ? output : 'the tool failed')
  const parts: PartEvent[] = []
  if (hasInput) parts.push({ type: 'tool-input-available', ...call, input: rawInput as Json })
  else if (isFirst) parts.push({ type: 'tool-input-start', ...call })
  for (const item of items) {
    if (item.type !== 'diff') continue
    const { path, oldText = null, newText } = item
    const data = { toolCallId, path, oldText, newText }
    parts.push({ type: 'data', name: 'diff', id: `${toolCallId} ${path}`, data })
  }
  if (status === 'completed') parts.push({ type: 'tool-output-available', toolCallId, output })
  if (status === 'failed') parts.push({ type: 'tool-output-error', toolCallId, errorText })
  return parts
}

export const thoughtPart = (text: string): PartEvent => ({
  type: 'reasoning-delta',
  id: 'thought',
  text,
})

/** A plan replaces the earlier plan of the turn. */
export const planPart = (entries: readonly unknown[]): PartEvent => ({
  type: 'data',
  name: 'plan',
  id: 'plan',
  data: { entries: entries as Json[] },
})
