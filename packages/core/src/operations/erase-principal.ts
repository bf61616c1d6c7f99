import { ok, safeTry, type ResultAsync } from 'neverthrow'
import { auditEntry, type ByActor } from '../domain/access/audit.js'
import type { Message } from '../domain/messages/message.js'
import { MAX_END_USER_ID } from '../domain/access/principal.js'
import type { MessageErasure } from '../ports/message-store.js'
import type { PrincipalStep, Unavailable } from '../ports/stored.js'
import type { Changing, Platform } from '../platform.js'
import type { Needs } from './context.js'
import { broken, type Invalid } from '../domain/values/input-rules.js'
import { textRule } from '../domain/values/input-rules.js'
import { chain } from '../pacing/chain.js'

export type CountPrincipalInput = {
  readonly projectId: string
  /** The id of the end user, as in `executionPrincipal`. */
  readonly endUserId: string
  /** The `nextCursor` of the call before. Absent: from the beginning. */
  readonly cursor?: string | undefined
}
export type ErasePrincipalInput = CountPrincipalInput &
  ByActor & {
    /** True erases open messages too. Default: false. */
    readonly force?: boolean | undefined
  }

/**
 * Counts of the rows that this call reached. `openMessages` were kept. With `nextCursor` the
 * caller continues and adds up.
 */
export type PrincipalTraces = {
  readonly messages: number
  readonly openMessages: number
  readonly deliveries: number
  /** Events without deliveries. */
  readonly events: number
  readonly nextCursor: string | null
}

/** Rows per commit. Other writes run between two commits. */
const STEP = 100
/** Commits per call: ten thousand rows. */
const MOST_STEPS = 100

/**
 * The walk visits the messages of each agent, then the project's deliveries with their events, and
 * then events without deliveries. An event that commits during the walk is there by then.
 */
type WalkStep =
  | { readonly kind: 'agents'; readonly behind: string }
  | { readonly kind: 'messages'; readonly agentId: string; readonly after: number }
  | { readonly kind: 'deliveries' | 'events'; readonly after: number }

type Found = Partial<Omit<PrincipalTraces, 'nextCursor'>> & { readonly place: WalkStep | undefined }
type Erasing = Changing & Needs<'dispatcher' | 'deliverySender' | 'waitingRoom'>
type Walk = CountPrincipalInput & Pick<MessageErasure, 'force' | 'countOnly' | 'audit'>

export const countPrincipal = (d: Erasing) => (input: CountPrincipalInput) =>
  walk(d, { ...input, force: false, countOnly: true })

export const erasePrincipal =
  (d: Erasing) =>
  ({ force = false, actor, ...input }: ErasePrincipalInput) =>
    walk(d, { ...input, force, countOnly: true }).andThen(({ messages: count }) => {
      const { projectId } = input
      const audit = auditEntry(d, {
        projectId,
        action: 'principal.erased',
        targetId: projectId,
        count,
        actor,
      })
      return walk(d, { ...input, force, countOnly: false, audit })
    })

const walk = (
  d: Erasing,
  { cursor, ...of }: Walk,
): ResultAsync<PrincipalTraces, Unavailable | Invalid> =>
  safeTry(async function* () {
    let place = cursor === undefined ? start : placeAt(cursor)
    const problem = broken({
      endUserId: textRule(of.endUserId, MAX_END_USER_ID),
      cursor: place ? undefined : 'must be the nextCursor of the call before',
    })
    if (problem) return problem
    let sum = { messages: 0, openMessages: 0, deliveries: 0, events: 0 }
    for (let steps = 0; place && steps < MOST_STEPS; steps++) {
      const {
        messages = 0,
        openMessages = 0,
        deliveries = 0,
        events = 0,
        ...next
      }: Found = yield* stepFrom(d, of, place)
      // The next messages of these sessions are due.
      if (of.force && !of.countOnly && messages > 0 && place.kind === 'messages')
        d.dispatcher.wake(place.agentId)
      // The next deliveries of their orders are due.
      if (!of.countOnly && deliveries > 0) d.deliverySender.wake()
      sum = {
        messages: sum.messages + messages,
        openMessages: sum.openMessages + openMessages,
        deliveries: sum.deliveries + deliveries,
        events: sum.events + events,
      }
      place = next.place
    }
    if (of.force && !of.countOnly) d.waitingRoom.dismiss(isOf(of))
    return ok({ ...sum, nextCursor: place ? cursorOf(place) : null })
  })

const isOf =
  ({ projectId, endUserId }: CountPrincipalInput) =>
  ({ projectId: project, executionPrincipal: principal }: Message): boolean =>
    project === projectId && principal.type === 'end_user' && principal.endUserId === endUserId

const start: WalkStep = { kind: 'agents', behind: '' }

function stepFrom(
  { storage, clock }: Pick<Platform, 'clock' | 'storage'>,
  { projectId, endUserId, countOnly, force, audit }: Omit<Walk, 'cursor'>,
  place: WalkStep,
) {
  const step = (after: number): PrincipalStep => ({
    projectId,
    endUserId,
    countOnly,
    after,
    limit: STEP,
    now: clock.now(),
    audit,
  })
  switch (place.kind) {
    case 'agents':
      return chain(
        storage.agents.list(projectId, {
          limit: 1,
          ...(place.behind !== '' && { cursor: place.behind }),
        }),
      ).map(({ data: [agent] }): Found => ({
        place: agent ? messagesOf(agent.id) : { kind: 'deliveries', after: 0 },
      }))
    case 'messages':
      return chain(
        storage.messages.erasePrincipal({ ...step(place.after), agentId: place.agentId, force }),
      ).map(({ next, ...found }): Found => ({
        ...found,
        place: behindMessages(place.agentId, next),
      }))
    case 'deliveries':
      return chain(storage.deliveries.erasePrincipal(step(place.after))).map(
        ({ next, ...found }): Found => ({
          ...found,
          place:
            next === undefined ? { kind: 'events', after: 0 } : { kind: 'deliveries', after: next },
        }),
      )
    case 'events':
      return chain(storage.events.erasePrincipal(step(place.after))).map(
        ({ next, events }): Found => ({
          events,
          place: next === undefined ? undefined : { kind: 'events', after: next },
        }),
      )
  }
}

const messagesOf = (agentId: string, after = 0): WalkStep => ({ kind: 'messages', agentId, after })

const behindMessages = (agentId: string, next: number | undefined): WalkStep =>
  next === undefined ? { kind: 'agents', behind: agentId } : messagesOf(agentId, next)

/** `<agent>.<seq>`. Each part can be missing. `events` stands for the walk over events. */
const CURSOR = /^(events|[0-9a-f-]{36})?\.(\d{1,15})?$/

function cursorOf(place: WalkStep): string {
  if (place.kind === 'agents') return `${place.behind}.`
  if (place.kind === 'events') return `events.${place.after}`
  return `${place.kind === 'messages' ? place.agentId : ''}.${place.after}`
}

function placeAt(cursor: string): WalkStep | undefined {
  const found = CURSOR.exec(cursor)
  if (!found) return undefined
  const [, agentId = '', after] = found
  if (agentId === 'events') return { kind: 'events', after: Number(after ?? 0) }
  if (after === undefined) return { kind: 'agents', behind: agentId }
  return agentId === ''
    ? { kind: 'deliveries', after: Number(after) }
    : messagesOf(agentId, Number(after))
}
