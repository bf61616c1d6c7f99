import { given } from '../values/given.js'
import { PART_LIMITS, parsePartEvent, type AnswerParts, type Part, type PartEvent } from './part.js'

type ToolPart = Extract<Part, { type: 'tool' }>
type OtherEvent = Exclude<PartEvent, { type: 'text-delta' }>
type ToolEvent = Exclude<
  Extract<PartEvent, { type: `tool-${string}` }>,
  { type: 'tool-input-delta' }
>

/** `key` names the part for later events. `size` is the length of its JSON. */
type PartEntry = { readonly key: string | undefined; part: Part; size: number }
/** Only the length of text is kept: the response has the text itself. */
type TextEntry = { key?: undefined; part?: undefined; length: number }

/** Calls that are not stored, but whose results readers get. */
const MAX_OTHER_CALLS = 1_000

/**
 * Turns what a run emits into the parts of its answer.
 *
 * - Text goes on only with the text directly before it, and reasoning with reasoning of its id.
 * - The text of input deltas is not stored: `tool-input-available` has the whole input.
 * - A delta or a result of an unknown tool call is dropped.
 * - A value that makes its part too long is not stored. After too many parts, or too long ones
 *   together, no new part is stored except text.
 */
export class PartCollector {
  readonly #onDropped: (problem: string) => void
  readonly #entries: (PartEntry | TextEntry)[] = []
  /** Stored tool calls and data, by key. */
  #known: Map<string, PartEntry> | undefined
  /** Keys of calls that are not stored, the oldest first. */
  #otherCalls: Set<string> | undefined
  readonly #text = new TextDigest()
  #size = 0
  /** True after a part that found no room: no new part is stored. */
  #isFull = false
  #isTruncated = false
  #hasDropped = false
  /** Half of a surrogate pair at the end of the last delta. */
  #half = { key: '', text: '' }

  /** `onDropped` is called with the reason for the first event that is not valid. */
  constructor(onDropped: (problem: string) => void) {
    this.#onDropped = onDropped
  }

  /**
   * Takes a piece of text or a part event. Returns what readers get, or undefined for an event that
   * is not valid or too long.
   */
  take(emitted: unknown): string | PartEvent | undefined {
    if (typeof emitted === 'string') return this.#addText(emitted)
    const event = parsePartEvent(emitted)
    if (typeof event === 'string') return this.#drop(event)
    const problem = this.#problemOf(event)
    if (problem !== undefined) return this.#drop(problem)
    if (event.type === 'text-delta') return this.#addText(event.text)
    const whole = this.#wholeLetters(event)
    this.#store(whole)
    if (lengthOf(whole) <= PART_LIMITS.partLength) return whole
    this.#isTruncated = true
    return undefined
  }

  /**
   * Returns the parts of an answer with this response, or undefined if the answer is only text. If
   * the emitted text is not the response, one text part with the response replaces it.
   */
  finish(response: string): AnswerParts | undefined {
    const isTruncated = this.#isTruncated
    if (!isTruncated && this.#entries.every(({ part }) => !part)) return undefined
    const texts = this.#textsOf(response)
    const parts = this.#entries.map(({ part }, at) => part ?? textPart(texts.get(at)))
    parts.push(textPart(texts.get(parts.length)))
    return { parts: parts.filter((part) => part !== undefined), isTruncated }
  }

  /** Returns the texts of the response, by the place of their part. */
  #textsOf(response: string): ReadonlyMap<number, string> {
    const texts = new Map<number, string>()
    let end = 0
    for (const [at, entry] of this.#entries.entries())
      if (!entry.part) texts.set(at, response.slice(end, (end += entry.length)))
    const isSame = this.#text.isOf(response)
    if (isSame && [...texts.values()].every((text) => text.isWellFormed())) return texts
    return new Map([[[...texts.keys()].at(-1) ?? this.#entries.length, response]])
  }

  /** NUL separates parts in the log of a run, and an answer with NUL is refused. */
  #addText(emitted: string): string {
    const text = emitted.includes('\0') ? emitted.replaceAll('\0', '') : emitted
    if (text === '') return text
    this.#text.add(text)
    const last = this.#entries.at(-1)
    if (last && !last.part) last.length += text.length
    else this.#entries.push({ length: text.length })
    return text
  }

  #drop(problem: string): undefined {
    if (!this.#hasDropped) this.#onDropped(problem)
    this.#hasDropped = true
  }

  #problemOf(event: PartEvent): string | undefined {
    if (!('toolCallId' in event) || 'toolName' in event) return undefined
    const key = callKey(event)
    if (this.#known?.has(key) || this.#otherCalls?.has(key)) return undefined
    return `${event.type} has the id of no tool call`
  }

  /** Moves half of a surrogate pair at the end of a delta to the next delta of the same text. */
  #wholeLetters(event: OtherEvent): OtherEvent {
    if (event.type === 'reasoning-delta')
      return { ...event, text: this.#wholeText(`reasoning ${event.id}`, event.text) }
    if (event.type !== 'tool-input-delta') return event
    return { ...event, inputTextDelta: this.#wholeText(callKey(event), event.inputTextDelta) }
  }

  #wholeText(key: string, delta: string): string {
    const all = this.#half.key === key ? this.#half.text + delta : delta
    const whole = all.replace(/[\uD800-\uDBFF]$/, '')
    this.#half = { key, text: all.slice(whole.length) }
    return whole.toWellFormed()
  }

  #store(event: OtherEvent): void {
    switch (event.type) {
      case 'tool-input-delta':
      case 'finish-step':
        return
      case 'reasoning-delta':
        return this.#reason(event.text, `reasoning ${event.id}`)
      case 'tool-input-start':
      case 'tool-input-available':
      case 'tool-output-available':
      case 'tool-output-error':
        return this.#call(event)
      case 'data':
        return this.#setData(event)
      case 'file':
      case 'source-url':
        return void this.#add(event)
      case 'start-step':
        return void this.#add({ ...event, type: 'step' })
    }
  }

  /** Reasoning that does not fit into one part goes on in another part. */
  #reason(text: string, key: string): void {
    const last = this.#entries.at(-1)
    if (last?.key === key && last.part.type === 'reasoning') {
      const longer = { type: 'reasoning', text: last.part.text + text } as const
      if (this.#put(last, longer, last.size + lengthOf(text) - QUOTES)) return
    }
    if (text !== '') this.#add({ type: 'reasoning', text }, key)
  }

  #setData(event: Extract<PartEvent, { type: 'data' }>): void {
    const { name, id } = event
    const key = id === undefined ? undefined : JSON.stringify([name, id])
    const known = key === undefined ? undefined : this.#known?.get(key)
    if (!known) this.#add(event, key)
    else if (!this.#put(known, event)) this.#isTruncated = true
  }

  #call(event: ToolEvent): void {
    const key = callKey(event)
    if (this.#otherCalls?.has(key)) return
    const known = this.#known?.get(key)
    const part = toolPart(event, known?.part as ToolPart | undefined)
    if (known ? this.#put(known, part) : this.#add(part, key)) return
    this.#isTruncated = true
    // The state is right also without a value that does not fit.
    const { [VALUES[event.type]]: _, ...bare } = part
    if (known) this.#set(known, bare, lengthOf(bare))
    else if (!this.#add(bare, key)) this.#addOtherCall(key)
  }

  #addOtherCall(key: string): void {
    const others = (this.#otherCalls ??= new Set())
    others.add(key)
    const [oldest] = others
    if (others.size > MAX_OTHER_CALLS) others.delete(oldest as string)
  }

  /** Returns false if the part does not fit. */
  #add(part: Part, key?: string): boolean {
    const size = lengthOf(part)
    if (size > PART_LIMITS.partLength) this.#isTruncated = true
    else if (this.#entries.length >= PART_LIMITS.parts || !this.#fits(size)) this.#isFull = true
    else if (!this.#isFull) {
      const entry = { key, part, size }
      this.#entries.push(entry)
      this.#size += size
      if (key !== undefined) (this.#known ??= new Map()).set(key, entry)
      return true
    }
    this.#isTruncated = true
    return false
  }

  /** Changes a stored part. Returns false if the changed part does not fit. */
  #put(entry: PartEntry, part: Part, size = lengthOf(part)): boolean {
    if (size > PART_LIMITS.partLength || !this.#fits(size - entry.size)) return false
    this.#set(entry, part, size)
    return true
  }

  #set(entry: PartEntry, part: Part, size: number): void {
    this.#size += size - entry.size
    entry.part = part
    entry.size = size
  }

  #fits(more: number): boolean {
    return this.#size + more <= PART_LIMITS.totalLength
  }
}

/** The value that an event brings. */
const VALUES = {
  'tool-input-start': 'input',
  'tool-input-available': 'input',
  'tool-output-available': 'output',
  'tool-output-error': 'errorText',
} as const satisfies Record<ToolEvent['type'], keyof ToolPart>

const callKey = ({ toolCallId }: { readonly toolCallId: string }): string => `call ${toolCallId}`

const textPart = (text: string | undefined): Part | undefined =>
  text === undefined || text === '' ? undefined : { type: 'text', text }

/** Returns the part of a tool call after an event. The event of an output has the part before it. */
export function toolPart(event: ToolEvent, before: ToolPart | undefined): ToolPart {
  const names = { ...before, ...event } as Pick<ToolPart, 'toolCallId' | 'toolName' | 'title'>
  const { toolCallId, toolName, title } = names
  const call = { type: 'tool', toolCallId, toolName, ...given({ title }) } as const
  const input = given({ input: before?.input })
  switch (event.type) {
    case 'tool-input-start':
      return { ...call, state: 'input-streaming' }
    case 'tool-input-available':
      return { ...call, state: 'input-available', input: event.input }
    case 'tool-output-available':
      return { ...call, state: 'output-available', ...input, output: event.output }
    case 'tool-output-error':
      return { ...call, state: 'output-error', ...input, errorText: event.errorText }
  }
}

const lengthOf = (value: unknown): number => JSON.stringify(value).length
/** The quotation marks around a text in JSON. */
const QUOTES = 2

/** Compares texts without keeping them. */
class TextDigest {
  #length = 0
  #hash = 0

  add(text: string): void {
    this.#length += text.length
    // FNV-1a of UTF-16 units.
    for (let at = 0; at < text.length; at++)
      this.#hash = Math.imul(this.#hash ^ text.charCodeAt(at), 0x01000193)
  }

  isOf(text: string): boolean {
    if (text.length !== this.#length) return false
    const other = new TextDigest()
    other.add(text)
    return other.#hash === this.#hash
  }
}
