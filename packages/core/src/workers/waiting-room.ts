import type { Instant } from '../domain/instant.js'
import { isFinal, type Message } from '../domain/message.js'
import type { Platform } from '../use-cases/deps.js'
import { tally } from './tally.js'

/** Where callers wait for answers. Nobody waits past the deadline, and leaving changes nothing for the message. */
export type WaitingRoom = {
  /**
   * Gives the message once it is final, or as last seen at the deadline, on abort, when the room is full, or when it closes.
   * Listens from the call on; never rejects.
   */
  wait(message: Message, deadline: Instant, abort?: AbortSignal): Promise<Message>
  /** Sends everybody away now (each gets its 202), and lets nobody in. */
  close(): void
  readonly size: number
}

type Waiter = { readonly messageId: string; readonly leave: (message?: Message) => void }

/** A reason of our own: without one, every abort makes a DOMException with a stack. */
const LEFT = 'left'

export function createWaitingRoom(d: Pick<Platform, 'storage' | 'signal' | 'clock' | 'policy'>): WaitingRoom {
  const waiters = new Set<Waiter>()
  const perProject = new Map<string, number>()
  let closed = false
  let polling = false

  /** The signal is fast, the poll is sure (S§8): one query for everybody, for as long as somebody waits. */
  async function poll(): Promise<void> {
    if (polling) return
    polling = true
    while (waiters.size > 0) {
      await d.clock.sleep(d.policy.pollMs)
      await look([...waiters])
    }
    polling = false
  }

  async function look(at: readonly Waiter[]): Promise<void> {
    if (at.length === 0) return
    const ids = new Set(at.map((waiter) => waiter.messageId))
    const found = (await d.storage.messages.findFinal([...ids])).unwrapOr([])
    const final = new Map(found.map((message) => [message.id, message]))
    for (const { messageId, leave } of at) {
      const message = final.get(messageId)
      if (message) leave(message)
    }
  }

  function enter(message: Message, deadline: Instant, abort: AbortSignal | undefined): Promise<Message> {
    return new Promise((resolve) => {
      const timer = new AbortController()
      const leave = (seen: Message = message): void => {
        if (!waiters.delete(waiter)) return
        tally(perProject, message.projectId, -1)
        stopListening()
        abort?.removeEventListener('abort', onAbort)
        timer.abort(LEFT)
        resolve(seen)
      }
      const waiter: Waiter = { messageId: message.id, leave }
      const onAbort = (): void => leave()
      const stopListening = d.signal.listen(message.id, (heard) => {
        if (!heard) void look([waiter])
        else if (isFinal(heard.state)) leave(heard)
      })
      waiters.add(waiter)
      tally(perProject, message.projectId, 1)
      abort?.addEventListener('abort', onAbort)
      void d.clock.sleep(deadline - d.clock.now(), timer.signal).then(() => leave())
      void poll()
    })
  }

  return {
    async wait(message, deadline, abort) {
      const full = (perProject.get(message.projectId) ?? 0) >= d.policy.maxWaitingPerProject
      const useless = isFinal(message.state) || deadline <= d.clock.now() || abort?.aborted === true
      return useless || full || closed ? message : enter(message, deadline, abort)
    },
    close() {
      closed = true
      for (const { leave } of waiters) leave()
    },
    get size() {
      return waiters.size
    },
  }
}
