import { createHash } from 'node:crypto'
import type { PermissionOption } from '@agentclientprotocol/sdk'
import type { Json } from '@org/agent-messaging-core'
import {
  beginningOf,
  canonicalJson,
  isStorableText,
  type AskingRun,
} from '@org/agent-messaging-core/runtime'
import type { ToolKind } from './acp-permissions.js'

/** The description of a tool call by the agent, short enough for a question. */
export type ToolCall = {
  readonly kind?: ToolKind
  readonly title?: string
  readonly files?: string
  readonly input?: string
  readonly content?: string
}

/** The fields of the protocol. */
type ReportedCall = {
  readonly kind?: ToolKind | null | undefined
  readonly title?: string | null | undefined
  readonly locations?: readonly { readonly path: string }[] | null | undefined
  readonly rawInput?: unknown
  readonly content?: unknown
}

const MAX_TITLE_LENGTH = 500
const MAX_FILES_LENGTH = 1_000
const MAX_JSON_LENGTH = 2_500
const MAX_LABEL_LENGTH = 200
/** A question with more options is refused, so the others need no label. */
const MAX_LABELS = 51

/** Reads the fields that the agent has set. Later reports of a call replace earlier ones. */
export function readToolCall(reported: ReportedCall): ToolCall {
  const { kind, title, locations, rawInput, content } = reported
  const files = locations?.map(({ path }) => path).join(', ')
  const input = jsonOf(rawInput)
  const shownContent = jsonOf(content)
  return {
    ...(kind && { kind }),
    ...(title && { title: lineOf(title, MAX_TITLE_LENGTH) }),
    ...(files && { files: lineOf(files, MAX_FILES_LENGTH) }),
    ...(input !== undefined && { input }),
    ...(shownContent !== undefined && { content: shownContent }),
  }
}

/**
 * Returns the question for a permission request. Its options are the names of the agent's options,
 * in their order. Equal requests give equal questions: ids do not count.
 */
export function permissionQuestion(
  { kind = 'other', title = 'use a tool', files, input, content }: ToolCall,
  options: readonly PermissionOption[],
): AskingRun & { readonly options: readonly string[] } {
  const lines = [
    `The agent asks for permission: ${title}`,
    `Tool: ${kind}`,
    files === undefined ? '' : `Files: ${files}`,
    input === undefined ? '' : `Input: ${input}`,
    content === undefined ? '' : `Content: ${content}`,
  ]
  return {
    kind: 'input_required',
    question: lines.filter((line) => line !== '').join('\n'),
    options: distinct(
      options
        .slice(0, MAX_LABELS)
        .map((option) => lineOf(option.name, MAX_LABEL_LENGTH) || option.kind),
    ),
  }
}

/** Numbers repeated texts. */
function distinct(texts: readonly string[]) {
  const found: string[] = []
  for (const text of texts) {
    let label = text
    for (let number = 2; found.includes(label); number++) label = `${text} (${number})`
    found.push(label)
  }
  return found
}

/** Returns undefined for an absent or an empty value. */
function jsonOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  try {
    const json = canonicalJson(value as Json)
    return json === '{}' || json === '[]' ? undefined : shortened(json, MAX_JSON_LENGTH)
  } catch {
    return 'nested too deeply to show'
  }
}

/** One line, so that no text can look like another part of the question. */
function lineOf(text: string, maxLength: number) {
  const line = text.replace(/\s+/g, ' ').trim()
  return shortened(isStorableText(line) ? line : JSON.stringify(line), maxLength)
}

/** The hash tells apart long texts with the same beginning. */
function shortened(text: string, maxLength: number) {
  if (text.length <= maxLength) return text
  const hash = createHash('sha256').update(text).digest('hex')
  return `${beginningOf(text, maxLength - 100)}… (cut off, SHA-256 ${hash})`
}
