import type { Json } from '@org/agent-messaging-core'
import type { PartEvent } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import type { ToolCall } from './acp-tool-call.js'

/** A report of the agent about a tool call. */
type CallReport = {
  readonly toolCallId: string
  readonly status?: string | null | undefined
  readonly rawInput?: unknown
  readonly rawOutput?: unknown
  readonly content?: unknown
}

/** What a tool shows: a text, or a change of a file. Terminals and pictures have neither. */
const items = z
  .array(
    z
      .object({
        content: z.object({ text: z.string() }).optional().catch(undefined),
        path: z.string().optional(),
        oldText: z.string().nullish(),
        newText: z.string().optional(),
      })
      .catch({}),
  )
  .catch([])

/**
 * Returns the part events of a report. `call` is all that the agent has reported about the call.
 * The protocol has no name of a tool, so the kind is the name. The service checks the values.
 */
export function partsOfCall(
  { toolCallId, status, rawInput, rawOutput, content }: CallReport,
  { kind: toolName = 'other', title }: ToolCall,
  isFirst: boolean,
): PartEvent[] {
  const shown = items.parse(content)
  const text = shown.flatMap((item) => item.content?.text ?? []).join('\n')
  const call = { toolCallId, toolName, ...(title !== undefined && { title }) }
  const hasInput = rawInput !== undefined && rawInput !== null
  const output = (rawOutput ?? (text || null)) as Json
  const parts: PartEvent[] = []
  if (hasInput) parts.push({ type: 'tool-input-available', ...call, input: rawInput as Json })
  else if (isFirst) parts.push({ type: 'tool-input-start', ...call })
  for (const { path, oldText = null, newText } of shown) {
    if (path === undefined || newText === undefined) continue
    const data = { toolCallId, path, oldText, newText }
    parts.push({ type: 'data', name: 'diff', id: `${toolCallId} ${path}`, data })
  }
  if (status === 'completed') parts.push({ type: 'tool-output-available', toolCallId, output })
  if (status === 'failed')
    parts.push({ type: 'tool-output-error', toolCallId, errorText: text || 'the tool failed' })
  return parts
}
