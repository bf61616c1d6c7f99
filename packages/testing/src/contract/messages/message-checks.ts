import { isFinal } from '@org/agent-messaging-core/storage'
import { groupBy, isBefore, ofKind, type History, type RunStep, type Send } from '../history.js'

type Claim = Extract<RunStep, { kind: 'claimed' }>
type Recorded = Extract<RunStep, { kind: 'recorded' }>

/**
 * Violations that the history shows of the promises about messages, one sentence each; nothing, if
 * they were kept.
 */
export function messageViolations(history: History): string[] {
  return [
    ...violationsOfOneMessagePerKey(history),
    ...violationsOfDurability(history),
    ...violationsOfOneAnswer(history),
    ...violationsOfAttemptNumbers(history),
    ...violationsOfFencing(history),
    ...violationsOfOrder(history),
  ]
}

/**
 * G2. A send without a key, or the first with it, is its own message; every other one finds that.
 */
function violationsOfOneMessagePerKey({ sends }: History): string[] {
  const answered = sends.filter(({ messageId }) => messageId !== undefined)
  const groups = groupBy(answered, ({ agentId, key, ownId }) => `${agentId} ${key ?? ownId}`)
  return [...groups].flatMap(([key, group]) => {
    const created = group.filter(({ isNew }) => isNew)
    const found = new Set(group.map(({ messageId }) => messageId))
    return found.size === 1 && created.length === 1
      ? []
      : [`key ${key} made ${created.length} messages and found ${found.size}`]
  })
}

/**
 * G1. Whatever a send was answered is there in the end, once, and nothing else; and no message is
 * left undone.
 */
function violationsOfDurability({ sends, messagesLeft }: History): string[] {
  const known = new Set(sends.flatMap(({ messageId }) => messageId ?? []))
  const left = groupBy(messagesLeft, ({ id }) => id)
  const counts = [...known].map((id) => ({ id, count: left.get(id)?.length ?? 0 }))
  const lost = counts
    .filter(({ count }) => count !== 1)
    .map(({ id, count }) => `message ${id} was answered and is there ${count} times`)
  const unknown = [...left.keys()]
    .filter((id) => !known.has(id))
    .map((id) => `message ${id} came from nowhere`)
  const open = messagesLeft
    .filter(({ state }) => !isFinal(state))
    .map(({ id, state }) => `message ${id} was left ${state.kind}`)
  return [...lost, ...unknown, ...open]
}

/** G2. One result that ends the message was taken, and that is the one that is kept. */
function violationsOfOneAnswer({ runs, messagesLeft }: History): string[] {
  const finals = groupBy(finalRecords(runs), ({ messageId }) => messageId)
  return messagesLeft.flatMap(({ id, state }) => {
    const taken = finals.get(id) ?? []
    const isKept =
      taken.length === 1 &&
      JSON.stringify(sorted(taken[0]?.state)) === JSON.stringify(sorted(state))
    return isKept
      ? []
      : [`message ${id} took ${taken.length} final results and keeps ${JSON.stringify(state)}`]
  })
}

/** Claims of a message count 1, 2, 3 …, each once. */
function violationsOfAttemptNumbers({ runs }: History): string[] {
  return [...groupBy(ofKind(runs, 'claimed'), ({ messageId }) => messageId)].flatMap(
    ([id, claims]) => {
      const numbers = claims.map(attemptOf).sort((a, b) => a - b)
      return numbers.every((number, index) => number === index + 1)
        ? []
        : [`message ${id} was claimed as attempts ${numbers.join(', ')}`]
    },
  )
}

/**
 * G5. Once a newer claim was handed out, nothing of an older one is taken: no result, no deferral,
 * no extension.
 */
function violationsOfFencing({ runs }: History): string[] {
  const claims = groupBy(ofKind(runs, 'claimed'), ({ messageId }) => messageId)
  return runs.flatMap((step) => {
    if (step.kind === 'claimed' || !step.ok) return []
    const all = claims.get(step.messageId) ?? []
    const own = all.find(({ token }) => token === step.token)
    const newer = all.find(
      (claim) => own && attemptOf(claim) > attemptOf(own) && isBefore(claim, step),
    )
    if (!own || !newer) return []
    return [
      `message ${step.messageId}: attempt ${attemptOf(own)} was ${step.kind} after attempt ${attemptOf(newer)} had begun`,
    ]
  })
}

/**
 * G5. When a message is handed out, every one of its session that was accepted or handed out
 * before it is final.
 */
function violationsOfOrder({ sends, runs }: History): string[] {
  const claims = groupBy(ofKind(runs, 'claimed'), ({ messageId }) => messageId)
  const finals = new Map(finalRecords(runs).map((record) => [record.messageId, record]))
  const claimsOf = ({ ownId }: Send): Claim[] => claims.get(ownId) ?? []
  const isAhead = (other: Send, send: Send, claim: Claim): boolean =>
    other !== send &&
    (isBefore(other, send) || claimsOf(other).some((held) => isBefore(held, claim)))
  const isOpenAt = (claim: Claim, { ownId }: Send): boolean =>
    (finals.get(ownId)?.from ?? Infinity) > claim.to

  const overtakes = (send: Send, session: readonly Send[]): string[] =>
    claimsOf(send).flatMap((claim) => {
      const open = session.find((other) => isAhead(other, send, claim) && isOpenAt(claim, other))
      return open
        ? [`message ${send.ownId} was handed out while ${open.ownId} of its session was open`]
        : []
    })
  const created = sends.filter(({ isNew }) => isNew)
  const sessions = groupBy(created, ({ agentId, sessionId }) => `${agentId} ${sessionId}`)
  return [...sessions.values()].flatMap((session) =>
    session.flatMap((send) => overtakes(send, session)),
  )
}

const attemptOf = ({ claimed }: Claim): number => claimed.message.attempt
const finalRecords = (runs: readonly RunStep[]): Recorded[] =>
  ofKind(runs, 'recorded').filter(({ ok, state }) => ok && isFinal(state))
const sorted = (state: object | undefined): unknown[] =>
  Object.entries(state ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
