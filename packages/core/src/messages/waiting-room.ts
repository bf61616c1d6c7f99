import type { Instant } from '../domain/instant.js'
import { isFinal, type Message } from '../domain/message.js'
import type { Platform } from '../platform.js'
import { tally } from './tally.js'

/** Where callers wait for answers. Nobody waits past the deadline, and leaving changes nothing for the message. */
export type WaitingRoom = {
  /**
   * Gives the message once it is final, or as last seen at the deadline, when the caller is seen to have left, when the message is
   * gone, when the room is full, or when it closes. Listens from the call on; never rejects.
   */
  wait(message: Message, deadline: Instant, caller?: Caller): Promise<Message>
  /** Sends those away whose message was erased: nothing will come of it. Those of other processes are found by a look at who is still there. */
  dismiss(isGone: (message: Message) => boolean): void
  /** Sends everybody away now (each gets its 202), and lets nobody in. */
  close(): void
  readonly size: number
}

/** An AbortSignal, or less: it is looked at each time that the room looks for answers. To listen to one for each request would cost more. */
export type Caller = { readonly aborted: boolean }

/** Thousands of them wait at once: what is the same for all of them stands outside. */
type Waiter = {
  /** As last seen. */
  readonly message: Message
  deadline: Instant
  /** The time when it was looked at last. */
  seenAt: Instant
  readonly caller: Caller | undefined
  readonly resolve: (seen: Message) => void
  readonly stopListening: () => void
}

/** Messages of one look that may be gone: each is read whole, and may be long. Of more than these, each has its turn in one of the next looks. */
const MOST_READ = 20

export function createWaitingRoom(
  d: Pick<Platform, 'storage' | 'signal' | 'clock' | 'policy'>,
): WaitingRoom {
  const waiters = new Set<Waiter>()
  const perProject = new Map<string, number>()
  let closed = false
  let nap: { readonly until: Instant; readonly cut: AbortController } | undefined
  let looking = false
  /** Of whose answers another process told, without giving them. */
  const told = new Set<Waiter>()
  let isFetching = false

  /** One timer for everybody: it ends at the next look for answers, or with the first deadline. */
  async function attend(): Promise<void> {
    for (let nextLook = d.clock.now() + d.policy.pollMs; waiters.size > 0;) {
      nap = { until: firstDeadline(nextLook), cut: new AbortController() }
      await d.clock.sleep(nap.until - d.clock.now(), nap.cut.signal)
      const now = d.clock.now()
      for (const waiter of waiters) {
        keepUp(waiter, now)
        if (waiter.deadline <= now || waiter.caller?.aborted) leave(waiter)
      }
      nextLook = Math.min(nextLook, now + d.policy.pollMs)
      if (now < nextLook) continue
      void lookForAll()
      nextLook = now + d.policy.pollMs
    }
    nap = undefined
  }

  /** A clock that was set back would keep it here until the old time has come again: its deadline goes back with it. */
  function keepUp(waiter: Waiter, now: Instant): void {
    waiter.deadline -= Math.max(0, waiter.seenAt - now)
    waiter.seenAt = now
  }

  const firstDeadline = (latest: Instant): Instant =>
    [...waiters].reduce((first, { deadline }) => Math.min(first, deadline), latest)

  /** The signal is fast, the poll is sure (S§8): one query for everybody, for as long as somebody waits. */
  async function lookForAll(): Promise<void> {
    if (looking) return
    looking = true
    await look([...waiters])
    await lookForGone(inTurn())
    looking = false
  }

  /** Those whose turn it is, who then stand behind the others. */
  function inTurn(): Waiter[] {
    const turn = [...waiters].slice(0, MOST_READ)
    for (const waiter of turn) waiters.delete(waiter)
    for (const waiter of turn) waiters.add(waiter)
    return turn
  }

  /** What another process erases never becomes final, and nothing tells of it. */
  async function lookForGone(at: readonly Waiter[]): Promise<void> {
    if (at.length === 0) return
    const found = await d.storage.messages.find([...new Set(at.map(({ message }) => message.id))])
    if (found.isErr()) return
    const there = new Set(found.value.map(({ id }) => id))
    for (const waiter of at) if (!there.has(waiter.message.id)) leave(waiter)
  }

  /** One look for all that are told of at once, and the next one for those that were meanwhile. */
  async function fetchTold(): Promise<void> {
    if (isFetching) return
    isFetching = true
    await Promise.resolve() // one notification tells of many
    while (told.size > 0) {
      const some = [...told]
      told.clear()
      await look(some)
    }
    isFetching = false
  }

  async function look(at: readonly Waiter[]): Promise<void> {
    if (at.length === 0) return
    const ids = new Set(at.map(({ message }) => message.id))
    const found = (await d.storage.messages.findFinal([...ids])).unwrapOr([])
    const final = new Map(found.map((message) => [message.id, message]))
    for (const waiter of at) {
      const message = final.get(waiter.message.id)
      if (message) leave(waiter, message)
    }
  }

  function enter(
    message: Message,
    deadline: Instant,
    caller: Caller | undefined,
  ): Promise<Message> {
    return new Promise((resolve) => {
      const stopListening = d.signal.listen(message.id, (heard) => {
        if (heard) return isFinal(heard.state) ? leave(waiter, heard) : undefined
        told.add(waiter)
        void fetchTold()
      })
      const waiter: Waiter = {
        message,
        deadline,
        seenAt: d.clock.now(),
        caller,
        resolve,
        stopListening,
      }
      waiters.add(waiter)
      tally(perProject, message.projectId, 1)
      if (!nap) void attend()
      else if (deadline < nap.until) nap.cut.abort('earlier')
    })
  }

  function leave(waiter: Waiter, seen = waiter.message): void {
    if (!waiters.delete(waiter)) return
    tally(perProject, waiter.message.projectId, -1)
    waiter.stopListening()
    waiter.resolve(seen)
  }

  return {
    wait(message, deadline, caller) {
      const full = (perProject.get(message.projectId) ?? 0) >= d.policy.maxWaitingPerProject
      const useless = isFinal(message.state) || !(deadline > d.clock.now()) // NaN too: a host may have made it of a parameter
      return useless || full || closed ? Promise.resolve(message) : enter(message, deadline, caller)
    },
    dismiss(isGone) {
      for (const waiter of waiters) if (isGone(waiter.message)) leave(waiter)
    },
    close() {
      closed = true
      for (const waiter of waiters) leave(waiter)
    },
    get size() {
      return waiters.size
    },
  }
}
