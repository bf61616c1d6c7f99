import type { Dice } from '@org/agent-messaging-testing'
import type { AskedEvent } from '../checker/history.js'

/** A request to publish. Without ids its key tells that it is the same. */
export type Asking = { readonly events: readonly AskedEvent[]; readonly key?: string }

/** What a filter looks for. */
export const KIND = 'large'
const TYPES = ['order.paid', 'order.shipped', 'invoice.late']
const SESSIONS = 3
const MOST = 5

/** The requests of one client: single events and batches, new ones, repeated ones, and wrong ones. */
export class NewEvents {
  readonly #dice: Dice
  readonly #name: string
  readonly #agentIds: readonly string[]
  readonly #accepted: Asking[] = []
  #count = 0

  constructor(dice: Dice, name: string, agentIds: readonly string[]) {
    this.#dice = dice
    this.#name = name
    this.#agentIds = agentIds
  }

  /** The service accepted the request. */
  accepted(asking: Asking): void {
    this.#accepted.push(asking)
  }

  next(): Asking {
    const dice = this.#dice
    const before = this.#accepted.length > 0 ? dice.oneOf(this.#accepted) : undefined
    if (before && dice.chance(0.1)) return before
    const wrong = before && dice.chance(0.1) ? this.#other(before) : []
    const hasIds = wrong.length > 0 || dice.chance(0.7)
    const count = dice.chance(0.6) ? 1 : 2 + dice.below(MOST - 1)
    const events = Array.from({ length: count }, () => this.#event(hasIds))
    const key = hasIds && dice.chance(0.7) ? {} : { key: `${this.#name}-request-${this.#count}` }
    return { events: dice.chance(0.3) && wrong.length > 0 ? wrong : [...events, ...wrong], ...key }
  }

  /** Events of a person who is erased later. */
  ofPerson(): Asking & { readonly endUserId: string } {
    const endUserId = `${this.#name}-person-${this.#count}`
    const count = 1 + this.#dice.below(MOST)
    const events = Array.from({ length: count }, () => ({ ...this.#event(true), endUserId }))
    return { events, endUserId }
  }

  /** Other content with the id of an accepted event. */
  #other({ events: [first] }: Asking): AskedEvent[] {
    return first?.id === undefined
      ? []
      : [{ ...first, text: `${first.text}, wrong ${++this.#count}` }]
  }

  #event(hasId: boolean): AskedEvent {
    const dice = this.#dice
    const text = `${this.#name}-event-${++this.#count}`
    const isOrdered = dice.chance(0.6)
    return {
      type: dice.oneOf(TYPES),
      text,
      ...(dice.chance(0.5) && { kind: KIND }),
      ...(hasId && { id: `id of ${text}` }),
      ...(isOrdered && { sessionId: `session-${dice.below(SESSIONS)}` }),
      ...(isOrdered && dice.chance(0.5) && { agentId: dice.oneOf(this.#agentIds) }),
    }
  }
}

/** The event as the API and the core take it. */
export const inputOf = ({ type, text, kind, ...fields }: AskedEvent) => ({
  type,
  data: { text, ...(kind !== undefined && { kind }) },
  ...fields,
})

/** The event of a body of the log. Undefined for an event of the service. */
export function publishedIn(body: LoggedBody) {
  const { event: type, id, createdAt, data } = body
  const { text, kind, agentId, sessionId } = data
  if (text === undefined) return undefined
  return {
    id,
    type,
    createdAt: Date.parse(createdAt),
    text,
    ...(kind !== undefined && { kind }),
    ...(agentId !== undefined && { agentId }),
    ...(sessionId !== undefined && { sessionId }),
  }
}

export type LoggedBody = {
  readonly event: string
  readonly id: string
  readonly createdAt: string
  readonly data: Partial<Pick<AskedEvent, 'text' | 'kind' | 'agentId' | 'sessionId'>>
}
