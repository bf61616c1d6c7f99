import type { Access } from '../../domain/access/access.js'
import { isFinal, type Message, type RunningMessage } from '../../domain/messages/message.js'
import type { AnswerParts } from '../../domain/messages/part.js'
import type { PartCollector } from '../../domain/messages/part-collector.js'
import type { StreamPosition } from '../../domain/messages/stream-position.js'
import { ShortLivedMap } from '../../domain/values/short-lived-map.js'
import type { RunRequest } from '../../ports/agent-runtime.js'
import type { RelayNote } from '../../ports/chunk-relay.js'
import type { Platform } from '../../platform.js'
import { collectingParts } from '../collecting-parts.js'
import { ProjectCounts } from '../project-counts.js'
import { withParts } from '../with-parts.js'
import { IncomingAnswer } from './incoming-answer.js'
import { logged, type LiveAnswer } from './live-answer.js'
import { LiveAnswers } from './live-answers.js'
import { OutgoingAnswers } from './outgoing-answers.js'
import { StreamFeed, type AnswerStream } from './stream-feed.js'

/** The output of a run. */
export type LiveRun = {
  /** Never throws. After `end` it does nothing. */
  readonly emit: RunRequest['emit']
  /** Returns the parts of the answer, or undefined if the answer is only text. */
  readonly partsOf: (response: string) => AnswerParts | undefined
  readonly end: () => void
}

type LocalRun = { readonly message: RunningMessage; readonly answer: LiveAnswer }

/** Messages that one poll reads. They are read whole and can be long. */
const MAX_READ = 100

/**
 * Holds the open streams of this process. Pieces of an answer come from runs of this process, or by
 * the relay from runs of another one. States and final messages come from the signal and from a
 * poll: one query serves all streams.
 */
export class AnswerStreams {
  readonly #platform: Platform
  /** Runs of this process, by message id. */
  readonly #runs = new ShortLivedMap<string, LocalRun>()
  /** Open streams, by message id. */
  readonly #feeds = new Map<string, Set<StreamFeed>>()
  readonly #perProject = new ProjectCounts()
  /** Answers of other processes that have readers here, by message id. */
  readonly #incoming = new Map<string, IncomingAnswer>()
  readonly #outgoing: OutgoingAnswers | undefined
  readonly #answers: LiveAnswers
  /** Stops answering questions of other processes. Call it after the last run. */
  readonly leaveRelay: () => void
  #isPolling = false
  #isClosed = false

  constructor(platform: Platform) {
    this.#platform = platform
    const { relay, clock, stopping } = platform
    this.#answers = new LiveAnswers(platform.policy.stream)
    const onForgotten = (messageId: string): void => this.#forget(messageId)
    this.#outgoing = relay && new OutgoingAnswers({ relay, clock, stopping, onForgotten })
    this.leaveRelay = relay?.onNote((note) => this.#hear(note)) ?? (() => undefined)
  }

  /** Shows what the run emits to the readers of its message. */
  begin(message: RunningMessage): LiveRun {
    const { id } = message
    const answer = this.#answers.begin(id)
    let parts: PartCollector | undefined
    const run = { message, answer }
    this.#runs.set(id, run)
    this.#incoming.delete(id)
    this.#outgoing?.begin(message, answer)
    for (const feed of this.#feedsOf(id)) feed.follow(message, answer)
    return {
      emit: (emitted) => {
        if (this.#runs.get(id) !== run) return
        parts ??= collectingParts(this.#platform, message)
        const taken = parts.take(emitted)
        if (taken === undefined || taken === '') return
        answer.append(logged(taken))
        for (const feed of this.#feedsOf(id)) feed.serve()
        this.#outgoing?.serve(id)
      },
      partsOf: (response) => parts?.finish(response),
      end: () => {
        if (this.#runs.get(id) !== run) return
        this.#runs.delete(id)
        this.#outgoing?.end(id)
        // Another process can run the message's next attempt.
        for (const feed of this.#feedsOf(id)) this.#followIncoming(feed)
        this.#forget(id)
      },
    }
  }

  /**
   * Opens a stream behind the event `after`. Returns undefined if the project or the caller has too
   * many streams.
   */
  open(message: Message, after?: StreamPosition, access?: Access): AnswerStream | undefined {
    const { signal, policy } = this.#platform
    const opener = { projectId: message.projectId, access }
    if (this.#perProject.isFull(opener, policy.stream.maxPerProject)) return undefined
    this.#perProject.add(opener, 1)
    const onEnd = (ended: StreamFeed): void => {
      stopListening()
      this.#perProject.add(opener, -1)
      this.#remove(ended)
    }
    const feed = new StreamFeed({ message, after, policy: policy.stream, onEnd })
    const stopListening = signal.listen(message.id, (heard) =>
      heard ? feed.show(heard) : void this.#read([feed]),
    )
    this.#add(feed)
    const run = this.#runs.get(message.id)
    if (run) feed.follow(run.message, run.answer)
    else if (!isFinal(message.state)) this.#followIncoming(feed)
    if (this.#isClosed) feed.finish()
    void this.#poll()
    return feed.stream
  }

  /** Ends every stream after the events that there are now. */
  close(): void {
    this.#isClosed = true
    for (const feed of this.#allFeeds()) feed.finish()
    this.#incoming.clear()
  }

  #followIncoming(feed: StreamFeed): void {
    const { relay } = this.#platform
    const { id } = feed.message
    if (!relay || this.#isClosed) return
    const known = this.#incoming.get(id)
    const incoming = known ?? new IncomingAnswer(id, () => this.#answers.begin(id))
    this.#incoming.set(id, incoming)
    feed.followIncoming(incoming)
    if (!known) void relay.send(incoming.question())
  }

  #hear(note: RelayNote): void {
    const { messageId } = note
    if (note.kind === 'question') return this.#outgoing?.hear(note)
    const incoming = this.#incoming.get(messageId)
    const taken = incoming?.take(note)
    if (!incoming || taken === 'nothing') return
    if (taken === 'gap') void this.#platform.relay?.send(incoming.question(true))
    const feeds = [...this.#feedsOf(messageId)]
    if (taken === 'began') void this.#read(feeds)
    for (const feed of feeds) feed.serve()
  }

  /** Tells the other processes which answers still have readers here. */
  #askAgain(): void {
    for (const [id, incoming] of this.#incoming) {
      if (!this.#runs.get(id)) void this.#platform.relay?.send(incoming.question())
    }
  }

  #feedsOf(messageId: string): Iterable<StreamFeed> {
    return this.#feeds.get(messageId) ?? []
  }

  #allFeeds(): StreamFeed[] {
    return [...this.#feeds.values()].flatMap((feeds) => [...feeds])
  }

  #add(feed: StreamFeed): void {
    const { id } = feed.message
    const feeds = this.#feeds.get(id) ?? new Set()
    this.#feeds.set(id, feeds.add(feed))
  }

  #remove(feed: StreamFeed): void {
    const { id } = feed.message
    const feeds = this.#feeds.get(id)
    if (feeds?.delete(feed) && feeds.size === 0) {
      this.#feeds.delete(id)
      this.#incoming.delete(id)
      this.#forget(id)
    }
  }

  /** Stops counting the log of a message that is not read or sent any more. */
  #forget(id: string): void {
    if (this.#runs.get(id) || this.#feeds.has(id) || this.#outgoing?.has(id)) return
    this.#answers.forget(id)
  }

  /** Runs while streams are open. */
  async #poll(): Promise<void> {
    if (this.#isPolling) return
    const { clock, policy } = this.#platform
    this.#isPolling = true
    while (this.#feeds.size > 0 && !this.#isClosed) {
      await clock.sleep(policy.pollMs)
      this.#askAgain()
      await this.#read(this.#rotate())
      for (const feed of this.#allFeeds()) feed.elapse(policy.pollMs)
    }
    this.#isPolling = false
  }

  /** Returns the streams of the first messages, and moves these messages behind the others. */
  #rotate(): StreamFeed[] {
    const first = [...this.#feeds].slice(0, MAX_READ)
    for (const [id, feeds] of first) {
      this.#feeds.delete(id)
      this.#feeds.set(id, feeds)
    }
    return first.flatMap(([, feeds]) => [...feeds])
  }

  async #read(feeds: readonly StreamFeed[]): Promise<void> {
    const ids = new Set(feeds.map(({ message }) => message.id))
    const { storage } = this.#platform
    const stored = await storage.messages.find([...ids])
    const found = stored.ok ? await withParts(storage, stored.value) : stored
    if (!found.ok) return
    const messages = new Map(found.value.map((message) => [message.id, message]))
    for (const feed of feeds) {
      const message = messages.get(feed.message.id)
      if (message) feed.show(message)
      else feed.finish()
    }
  }
}
