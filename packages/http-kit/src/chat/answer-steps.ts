import type { Message, StreamEvent } from '@org/agent-messaging-core'
import type { AnswerParts, Part, PartEvent } from '@org/agent-messaging-core/runtime'

/** A step of an answer. `restart` makes everything before it void. */
export type AnswerStep =
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'restart' }
  | { readonly kind: 'part'; readonly part: PartEvent }

/** A part that the reader has. `length` counts its text. */
type Shown = { readonly key: string; id: string; length: number }

/**
 * Turns what a run emits into an answer that only grows. A later attempt, and a final answer that
 * does not continue what the reader has, make a `restart`. After lost events, the rest comes with
 * the final answer.
 */
export class AnswerSteps {
  #text = ''
  #attempt: number | undefined
  /** The index of the next part event. */
  #index = 0
  #hasGap = false
  /** The parts that the reader has, in their order. */
  #shown: Shown[] = []
  /** The last event of each tool call, except deltas, and of data with an id. */
  #known = new Map<string, PartEvent['type']>()

  get text(): string {
    return this.#text
  }

  /** Leaves out events of tool calls that the reader does not know. */
  take(event: Extract<StreamEvent, { kind: 'chunk' | 'part' }>): AnswerStep[] {
    const steps = event.attempt === this.#attempt ? [] : this.#restart()
    this.#attempt = event.attempt
    const isNext = event.kind === 'chunk' || event.index === this.#index
    if (!isNext || event.offset !== this.#text.length) this.#hasGap = true
    if (this.#hasGap) return steps
    if (event.kind === 'part') this.#index++
    const part = event.kind === 'part' ? event.part : textDelta(event.text)
    return this.#isUseful(part) ? [...steps, this.#give(part)] : steps
  }

  /** Returns the steps that complete the answer of the final message. */
  finish({ attempt, state, parts }: Message): AnswerStep[] {
    if (state.kind !== 'responded') return []
    // Text that is void need not come again.
    const isVoid = attempt !== this.#attempt && this.#shown.some(({ key }) => key !== 'text')
    const steps = isVoid ? this.#restart() : []
    return [...steps, ...this.complete(state.response, parts)]
  }

  /** Returns the steps that complete an answer with this text and these stored parts. */
  complete(answer: string, { parts, isTruncated }: AnswerParts = TEXT_ONLY): AnswerStep[] {
    const stored = parts.length > 0 ? joined(parts) : [{ type: 'text', text: answer } as const]
    const fits = answer.startsWith(this.#text)
    const rest = fits ? this.#restOf(stored) : undefined
    if (rest) return rest.map((part) => this.#give(part))
    // The reader of a whole stream can have more than is stored.
    const isWhole = fits && isTruncated && !this.#hasGap
    const text = isWhole ? answer.slice(this.#text.length) : ''
    const left = isWhole ? eventsOf({ type: 'text', text }, '') : stored.flatMap(eventsOf)
    return [...(isWhole ? [] : this.#restart()), ...left.map((part) => this.#give(part))]
  }

  #restart(): AnswerStep[] {
    const isVoid = this.#shown.length > 0
    this.#text = ''
    this.#index = 0
    this.#hasGap = false
    this.#shown = []
    this.#known = new Map()
    return isVoid ? [{ kind: 'restart' }] : []
  }

  #isUseful(part: PartEvent): boolean {
    if ('text' in part) return part.text !== ''
    if (!('toolCallId' in part) || 'toolName' in part) return true
    const last = this.#known.get(keyOf(part))
    return part.type === 'tool-input-delta' ? last === 'tool-input-start' : last !== undefined
  }

  #give(part: PartEvent): AnswerStep {
    const key = keyOf(part)
    const { text = '', id = '' } = part as { text?: string; id?: string }
    const last = this.#shown.at(-1)
    if ('text' in part && last?.key === key) {
      last.id = id
      last.length += text.length
    } else if (!this.#known.has(key) && part.type !== 'finish-step')
      this.#shown.push({ key, id, length: text.length })
    const isKnown = part.type === 'data' ? id !== '' : 'toolCallId' in part
    if (isKnown && part.type !== 'tool-input-delta') this.#known.set(key, part.type)
    if (part.type !== 'text-delta') return { kind: 'part', part }
    this.#text += text
    return { kind: 'text', delta: text }
  }

  /** Returns what the reader lacks, or undefined if the parts do not continue what it has. */
  #restOf(stored: readonly Part[]): PartEvent[] | undefined {
    const { length } = this.#shown
    const isOther = this.#shown.some(({ key, length: shown }, at) => {
      const part = stored[at]
      if (!part || keyOf(part) !== key) return true
      const more = 'text' in part ? part.text.length - shown : 0
      return at < length - 1 ? more !== 0 : more < 0
    })
    if (isOther) return undefined
    this.#hasGap ||= stored.length > length
    return stored.flatMap((part, at) =>
      at < length ? this.#moreOf(part, this.#shown[at]) : eventsOf(part, at),
    )
  }

  #moreOf(part: Part, { id = '', length = 0 }: Partial<Shown> = {}): PartEvent[] {
    if ('text' in part) return eventsOf({ ...part, text: part.text.slice(length) }, id)
    if (part.type === 'data') return this.#hasGap && part.id !== undefined ? [part] : []
    if (part.type !== 'tool') return []
    const events = eventsOf(part, '')
    const last = events.findIndex(({ type }) => type === this.#known.get(keyOf(part)))
    // A lost event can be a later output.
    return events.slice(this.#hasGap && last > 0 ? last : last + 1)
  }
}

const TEXT_ONLY: AnswerParts = { parts: [], isTruncated: false }

const textDelta = (text: string): PartEvent => ({ type: 'text-delta', text })

/** Returns the same for an event and for the stored part that it begins. */
function keyOf(part: Part | PartEvent): string {
  if ('toolCallId' in part) return `call ${part.toolCallId}`
  if (part.type === 'data') return JSON.stringify([part.name, part.id])
  return part.type.replace(/^start-|-delta$/, '')
}

/** Joins reasoning that is stored as several parts. */
function joined(parts: readonly Part[]): readonly Part[] {
  const all: Part[] = []
  for (const part of parts) {
    const last = all.at(-1)
    if (part.type === 'reasoning' && last?.type === 'reasoning')
      all[all.length - 1] = { ...part, text: last.text + part.text }
    else all.push(part)
  }
  return all
}

/** Returns the events that make a stored part. Reasoning gets the id. */
function eventsOf(part: Part, id: number | string): PartEvent[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [textDelta(part.text)]
    case 'reasoning':
      return part.text === '' ? [] : [{ ...part, type: 'reasoning-delta', id: `${id}` }]
    case 'step':
      return [{ ...part, type: 'start-step' }]
    case 'tool':
      return toolEvents(part)
    default:
      return [part]
  }
}

function toolEvents(part: Extract<Part, { type: 'tool' }>): PartEvent[] {
  const { type: _, state, input, output = null, errorText = '', ...call } = part
  const { toolCallId } = call
  const begin: PartEvent =
    input === undefined && state !== 'input-available'
      ? { type: 'tool-input-start', ...call }
      : { type: 'tool-input-available', ...call, input: input ?? null }
  if (state === 'output-available') return [begin, { type: `tool-${state}`, toolCallId, output }]
  if (state === 'output-error') return [begin, { type: `tool-${state}`, toolCallId, errorText }]
  return [begin]
}
