import type { Part } from '@a2a-js/sdk'
import type { AnswerStep } from '@org/agent-messaging-http-kit'
import type { InputPart } from '@org/agent-messaging-core/runtime'

/**
 * Returns the parts of the artifact that the steps make: text, data and files by URL. A2A has no
 * other parts of an answer.
 */
export function artifactParts(steps: readonly AnswerStep[]): Part[] {
  const parts: Part[] = []
  for (const step of steps) {
    if (step.kind === 'restart') parts.length = 0
    else if (step.kind === 'text') addText(parts, step.delta)
    else if (step.part.type === 'data' || step.part.type === 'file') parts.push(partOf(step.part))
  }
  return parts
}

function addText(parts: Part[], delta: string): void {
  const { content } = parts.at(-1) ?? {}
  if (content?.$case === 'text') parts.splice(-1, 1, textPart(content.value + delta))
  else parts.push(textPart(delta))
}

export const textPart = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: 'text/plain',
})

export function partOf(part: InputPart): Part {
  if (part.type === 'file') {
    const { url: value, mediaType, filename = '' } = part
    return { content: { $case: 'url', value }, metadata: undefined, filename, mediaType }
  }
  const { name, id, data: value } = part
  const metadata = { name, ...(id !== undefined && { id }) }
  return {
    content: { $case: 'data', value },
    metadata,
    filename: '',
    mediaType: 'application/json',
  }
}
