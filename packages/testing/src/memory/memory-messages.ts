import type { Instant, Message, MessageRun, SessionSummary, Page } from '@org/agent-messaging-core'
import type { AnswerParts, Turn } from '@org/agent-messaging-core/runtime'
import { isSettled } from '@org/agent-messaging-core/host'
import {
  holdsRun,
  interruptedRun,
  MOST_PAST_RUNS,
  newMessageClaim,
  runsOf,
  isFinal,
  isRetryable,
  isEndUser,
  isWaitingFor,
  type MessageState,
  type Accepted,
  type Asking,
  type Cancellation,
  type Cancelled,
  type ClaimedMessage,
  type ClaimRunnable,
  type Deferral,
  type ErasedMessages,
  type PurgedMessages,
  type HeldRun,
  type HistoryOf,
  type InputChange,
  type InputChanged,
  type MessageBacklog,
  type MessageErasure,
  type MessageFilter,
  type MessageRef,
  type MetadataChange,
  type MessageSearch,
  type QuestionsOf,
  deadlineCursor,
  deadlineOf,
  deadlinePlace,
  matchesFields,
  type MessageStore,
  type NewMessage,
  type RecordedRun,
  type Retried,
  type Retry,
  type RunRecord,
  type SessionErasure,
  type SessionMemory,
  type SessionsOf,
  type PageOf,
  type Purge,
  type Sweep,
} from '@org/agent-messaging-core/storage'
import { recorded } from './memory-audit.js'
import {
  history,
  countListed,
  listMessages,
  listSessions,
  searchMessages,
} from './memory-conversations.js'
import { ofProject, type Immediate, type Memory, type MessageRow } from './memory.js'
import { takeFrom } from './memory-buckets.js'
import { addHook, publish } from './memory-outbox.js'
import { leaveRetried } from './memory-delivery-rows.js'
import {
  append,
  claimHead,
  dueSessions,
  eraseMessage,
  findSession,
  removeFinal,
  removeOpen,
  removeSession,
  sessionOf,
} from './memory-sessions.js'
import { appendCount } from './memory-counts.js'
import { erasePublished } from './memory-events.js'

export class MemoryMessages implements Immediate<MessageStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  accept(message: NewMessage): Accepted {
    const { apiKeyId, agentUpdatedAt } = message.readEarlier ?? {}
    if (apiKeyId !== undefined && !isValidKey(this.#memory, apiKeyId))
      return { kind: 'key_revoked' }
    const existing = this.#findByKey(message) ?? this.#memory.messages.get(message.id)
    const agent = ofProject(this.#memory.agents.get(message.agentId), message.projectId)
    const isChanged = agent && (agentUpdatedAt ?? agent.updatedAt) !== agent.updatedAt
    // With a changed agent, the key can be meant for another agent that now has its name.
    if (existing && (existing.message.id === message.id || !isChanged))
      return { kind: 'existing', message: existing.message }
    if (!agent) return { kind: 'agent_not_found' }
    if (agent.state.kind !== 'running') return { kind: 'agent_not_running' }
    if (isChanged) return { kind: 'agent_changed' }
    const session = sessionOf(this.#memory, message)
    if (session.open.length > agent.maxQueued) return { kind: 'session_full' }
    const taken = message.takes && takeFrom(this.#memory, message.takes, message.now)
    if (taken?.kind === 'rate_limited') return taken

    const row = this.#insert(message)
    appendCount(this.#memory, message.count)
    append(session, row, message.now)
    const until = newMessageClaim(message.claimUntil, session.open[0] === row)
    if (until === undefined) return { kind: 'created', message: row.message, ...taken }
    const claimed = claimHead(this.#memory, session, row, message.now, until)
    return { kind: 'claimed', claimed, ...taken }
  }

  claimRunnable({ lanes, now, until }: ClaimRunnable): ClaimedMessage[] {
    return lanes.flatMap(({ agentId, free }) =>
      dueSessions(this.#memory, agentId, now)
        .slice(0, free)
        .map(({ session, head }) => claimHead(this.#memory, session, head, now, until)),
    )
  }

  extendLeases(held: readonly HeldRun[], until: Instant): string[] {
    return held.filter((lease) => !this.#extend(lease, until)).map(({ messageId }) => messageId)
  }

  defer(deferral: Deferral): 'deferred' | 'lease_lost' {
    const row = this.#findHeld(deferral)
    if (!row) return 'lease_lost'
    row.message = { ...row.message, state: deferral.state }
    sessionOf(this.#memory, row.message).dueAt = deferral.state.deadlineAt
    return 'deferred'
  }

  recordRun({ state, now, outgoing, ended, parts, count, ...held }: RunRecord): RecordedRun {
    const row = this.#findHeld(held)
    if (!row) return { kind: 'lease_lost' }
    appendCount(this.#memory, count)
    if (ended) row.pastRuns.push(ended)
    if (parts) row.parts = parts
    row.message = { ...row.message, state }
    const session = sessionOf(this.#memory, row.message)
    if (state.kind === 'queued') session.dueAt = state.notBefore
    else removeOpen(session, row, now)
    const claims = publish(this.#memory, outgoing)
    const sessionWaits = session.open.length > 0
    return { kind: 'recorded', message: row.message, ...claims, sessionWaits }
  }

  ask({ state, inputs, outgoing, ended, count, ...held }: Asking): RecordedRun {
    const row = this.#findHeld(held)
    if (!row) return { kind: 'lease_lost' }
    appendCount(this.#memory, count)
    if (ended) row.pastRuns.push(ended)
    row.message = { ...row.message, state, inputs }
    sessionOf(this.#memory, row.message).dueAt = Infinity
    const claims = publish(this.#memory, outgoing)
    return { kind: 'recorded', message: row.message, ...claims, sessionWaits: false }
  }

  changeInput(change: InputChange): InputChanged | undefined {
    const { state, inputs, now, outgoing, count } = change
    const row = this.#find(change)
    if (!row) return undefined
    if (!isWaitingFor(row.message, change)) return { kind: 'not_waiting', message: row.message }
    appendCount(this.#memory, count)
    row.message = { ...row.message, state, inputs }
    const session = sessionOf(this.#memory, row.message)
    if (state.kind === 'queued') session.dueAt = state.notBefore
    if (state.kind === 'failed') removeOpen(session, row, now)
    const claims = publish(this.#memory, outgoing)
    const sessionWaits = state.kind !== 'input_required' && session.open.length > 0
    return recorded(this.#memory, change.audit, {
      kind: 'changed',
      message: row.message,
      ...claims,
      sessionWaits,
    })
  }

  dueInputs({ now, limit }: { readonly now: Instant; readonly limit: number }): Message[] {
    return [...this.#memory.messages.values()]
      .map(({ message }) => message)
      .filter(({ state }) => state.kind === 'input_required' && state.dueAt <= now)
      .sort((a, b) => dueAtOf(a) - dueAtOf(b))
      .slice(0, limit)
  }

  cancel({ state, outgoing, audit, count, ...ref }: Cancellation): Cancelled | undefined {
    const row = this.#find(ref)
    if (!row) return undefined
    if (isFinal(row.message.state)) return { kind: 'already_final', message: row.message }
    appendCount(this.#memory, count)
    const ended = interruptedRun(row.message, state.cancelledAt, 'cancelled')
    if (ended) row.pastRuns.push(ended)
    row.message = { ...row.message, state }
    const session = sessionOf(this.#memory, row.message)
    removeOpen(session, row, state.cancelledAt)
    const claims = publish(this.#memory, outgoing)
    const sessionWaits = session.open.length > 0
    return recorded(this.#memory, audit, {
      kind: 'cancelled',
      message: row.message,
      ...claims,
      sessionWaits,
    })
  }

  retry({ now, audit, ...ref }: Retry): Retried | undefined {
    const row = this.#find(ref)
    if (!row) return undefined
    if (!isRetryable(row.message.state)) return { kind: 'not_retryable' }
    const agent = this.#memory.agents.get(ref.agentId)
    if (agent?.state.kind !== 'running') return { kind: 'agent_not_running' }
    const session = sessionOf(this.#memory, row.message)
    if (session.open.length > agent.maxQueued) return { kind: 'session_full' }
    leaveRetried(this.#memory, row)
    delete row.recovery
    const { inputs: _, ...facts } = row.message
    row.message = { ...facts, attempt: 0, state: { kind: 'queued', notBefore: now } }
    session.all.splice(session.all.indexOf(row), 1)
    append(session, row, now)
    return recorded(this.#memory, audit, { kind: 'retried', message: row.message })
  }

  setMetadata({ metadata, ...ref }: MetadataChange): Message | undefined {
    const row = this.#find(ref)
    if (row) row.message = { ...row.message, metadata }
    return row?.message
  }

  rememberSession({ sessionState, ...held }: SessionMemory): 'remembered' | 'lease_lost' {
    const row = this.#findHeld(held)
    if (!row) return 'lease_lost'
    sessionOf(this.#memory, row.message).state = sessionState
    return 'remembered'
  }

  get(ref: MessageRef): Message | undefined {
    return this.#find(ref)?.message
  }

  parts(messageIds: readonly string[]): ReadonlyMap<string, AnswerParts> {
    const found = messageIds.map((id) => [id, this.#memory.messages.get(id)?.parts] as const)
    return new Map(found.flatMap(([id, parts]) => (parts ? [[id, parts]] : [])))
  }

  runs(ref: MessageRef): MessageRun[] | undefined {
    const row = this.#find(ref)
    return row && runsOf(row.message, row.pastRuns.slice(-MOST_PAST_RUNS))
  }

  getHeld(messageId: string): Pick<MessageRow, 'message' | 'token'> | undefined {
    const row = this.#memory.messages.get(messageId)
    return row && { message: row.message, token: row.token }
  }

  find(messageIds: readonly string[]): Message[] {
    return messageIds.flatMap((id) => this.#memory.messages.get(id)?.message ?? [])
  }

  findSettled(messageIds: readonly string[]): Message[] {
    return this.find(messageIds).filter(({ state }) => isSettled(state))
  }

  list(filter: MessageFilter, page: PageOf): Page<Message> {
    return listMessages(this.#memory, filter, page)
  }

  count(filter: MessageFilter, most: number): number {
    return countListed(this.#memory, filter, most)
  }

  listAsking(questions: QuestionsOf, { cursor, limit }: PageOf): Page<Message> {
    const after = deadlinePlace(cursor)
    const places = [...this.#memory.messages.values()]
      .map(({ message }) => ({ message, id: message.id, at: deadlineOf(message) }))
      .filter(({ message }) => matchesFields(message, { ...questions, state: 'input_required' }))
      .filter(({ at, id }) => !after || at > after.at || (at === after.at && id > after.id))
      .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
    const data = places.slice(0, limit)
    const last = places.length > limit ? data.at(-1) : undefined
    return {
      data: data.map(({ message }) => message),
      nextCursor: last ? deadlineCursor(last.at, last.id) : null,
    }
  }

  search(search: MessageSearch, page: PageOf): Page<Message> {
    return searchMessages(this.#memory, search, page)
  }

  listSessions(agent: SessionsOf, page: PageOf): Page<SessionSummary> {
    return listSessions(this.#memory, agent, page)
  }

  history(query: HistoryOf): Turn[] {
    return history(this.#memory, query)
  }

  erase({ projectId, audit, ...ref }: SessionErasure): 'erased' | 'busy' | undefined {
    const agent = ofProject(this.#memory.agents.get(ref.agentId), projectId)
    const session = agent && findSession(this.#memory, ref)
    if (!session) return undefined
    if (session.open.length > 0) return 'busy'
    removeSession(this.#memory, session)
    return recorded(this.#memory, audit, 'erased')
  }

  erasePrincipal(step: MessageErasure): ErasedMessages {
    const rows = [...this.#memory.messages.values()].filter(
      ({ message: { projectId, agentId, executionPrincipal } }) =>
        projectId === step.projectId &&
        agentId === step.agentId &&
        isEndUser(executionPrincipal, step.endUserId),
    )
    const erased = step.force ? rows : rows.filter(({ message }) => isFinal(message.state))
    if (!step.countOnly) {
      for (const row of erased) eraseMessage(this.#memory, row, step.now)
      recorded(this.#memory, step.audit, erased.length > 0)
    }
    return { messages: erased.length, openMessages: rows.length - erased.length }
  }

  /** Erased rows are deleted at once, except published events. */
  sweep({ limit, now }: Sweep): number {
    const { agents, events } = this.#memory
    const left = [...events.values()].filter(
      ({ published, agentId }) => published && agentId !== undefined && !agents.has(agentId),
    )
    return erasePublished(this.#memory, left.slice(0, limit), now)
  }

  purge({ finishedBefore, limit }: Purge): PurgedMessages {
    const purged = [...this.#memory.messages.values()]
      .filter(({ message }) => finishedAt(message.state) < finishedBefore)
      .sort((a, b) => finishedAt(a.message.state) - finishedAt(b.message.state))
      .slice(0, limit)
    for (const row of purged) removeFinal(this.#memory, row)
    return { removed: purged.length, looked: purged.length }
  }

  backlog(now: Instant, projectId?: string): MessageBacklog {
    const isOf = (row: { readonly projectId: string }) =>
      projectId === undefined || row.projectId === projectId
    const agents = [...this.#memory.agents.values()].filter(isOf)
    const messages = [...this.#memory.messages.values()].map(({ message }) => message).filter(isOf)
    const kinds = messages.map(({ state }) => state.kind)
    const count = (kind: MessageState['kind']): number => kinds.filter((one) => one === kind).length
    const dueTimes = agents
      .filter(({ state }) => state.kind === 'running')
      .flatMap(({ id }) => dueSessions(this.#memory, id, now))
      .filter(({ head }) => head.message.state.kind === 'queued')
      .map(({ session }) => session.dueAt)
    const askedTimes = messages.flatMap(({ state }) =>
      state.kind === 'input_required' ? [state.askedAt] : [],
    )
    return {
      queued: count('queued'),
      running: count('running'),
      deferred: count('deferred'),
      inputRequired: count('input_required'),
      ...(dueTimes.length > 0 && { oldestDueAt: Math.min(...dueTimes) }),
      ...(askedTimes.length > 0 && { oldestAskedAt: Math.min(...askedTimes) }),
    }
  }

  backlogs(now: Instant): ReadonlyMap<string, MessageBacklog> {
    const ids = [...this.#memory.agents.values()].map(({ projectId }) => projectId)
    return new Map(ids.map((id) => [id, this.backlog(now, id)]))
  }

  #insert({
    idempotencyKey,
    now,
    claimUntil: _claimUntil,
    count: _count,
    takes: _takes,
    hook,
    earlierTurns = [],
    ...facts
  }: NewMessage): MessageRow {
    const state = { kind: 'queued', notBefore: now } as const
    const message: Message = { ...facts, attempt: 0, state, createdAt: now }
    const row: MessageRow = { message, token: 0, earlierTurns, pastRuns: [] }
    this.#memory.messages.set(facts.id, row)
    if (hook) addHook(this.#memory, hook)
    if (idempotencyKey !== undefined)
      this.#memory.idempotencyKeys.set(keyOf(facts, idempotencyKey), row)
    return row
  }

  #findByKey(message: NewMessage): MessageRow | undefined {
    const { idempotencyKey } = message
    return idempotencyKey === undefined
      ? undefined
      : this.#memory.idempotencyKeys.get(keyOf(message, idempotencyKey))
  }

  #find({ projectId, agentId, messageId }: MessageRef): MessageRow | undefined {
    const row = this.#memory.messages.get(messageId)
    return row?.message.projectId === projectId && row.message.agentId === agentId ? row : undefined
  }

  #findHeld({ messageId, token }: HeldRun): MessageRow | undefined {
    const row = this.#memory.messages.get(messageId)
    if (!row) return undefined
    const isHead = sessionOf(this.#memory, row.message).open[0] === row
    const run = { state: row.message.state.kind, lease: row.token, isHead }
    return holdsRun(run, token) ? row : undefined
  }

  #extend(lease: HeldRun, until: Instant): boolean {
    const row = this.#findHeld(lease)
    if (row?.message.state.kind !== 'running') return false
    sessionOf(this.#memory, row.message).dueAt = until
    return true
  }
}

const dueAtOf = ({ state }: Message): Instant =>
  state.kind === 'input_required' ? state.dueAt : Infinity

const keyOf = (
  { projectId, agentId }: Pick<NewMessage, 'projectId' | 'agentId'>,
  idempotencyKey: string,
): string => `${projectId} ${agentId} ${idempotencyKey}`

/** Infinity for an open message. */
function finishedAt(state: MessageState): Instant {
  switch (state.kind) {
    case 'responded':
      return state.respondedAt
    case 'failed':
      return state.failedAt
    case 'cancelled':
      return state.cancelledAt
    default:
      return Infinity
  }
}

function isValidKey({ apiKeys }: Memory, id: string): boolean {
  const row = apiKeys.get(id)
  return row !== undefined && row.key.revokedAt === undefined
}
