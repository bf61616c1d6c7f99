import type { Message, RunningMessage } from '../../domain/message.js'
import type { StreamPosition } from '../../domain/stream-position.js'
import type { Platform } from '../../platform.js'
import { ProjectCounts } from '../project-counts.js'
import { LiveAnswer } from './live-answer.js'
import { StreamFeed, type AnswerStream } from './stream-feed.js'

/** The output of a run. `emit` never throws. After `end` it does nothing. */
export type LiveRun = { readonly emit: (chunk: string) => void; readonly end: () => void }

type LocalRun = { readonly message: RunningMessage; readonly answer: LiveAnswer }

/** Messages that one poll reads. They are read whole and can be long. */
const MAX_READ = 100

/**
 * The open streams of this process. Pieces of an answer come from runs of this process, states and
 * final messages from the signal and from a poll: one query serves all streams (S§8).
 */
export class AnswerStreams {
  readonly #platform: Platform
  /** Runs of this process, by message id. */
  readonly #runs = new Map<string, LocalRun>()
  /** Open streams, by message id. */
  readonly #feeds = new Map<string, Set<StreamFeed>>()
  readonly #perProject = new ProjectCounts()
  #isPolling = false
  #isClosed = false

  constructor(platform: Platform) {
    this.#platform = platform
  }

  /** Shows what the run emits to the readers of its message. */
  begin(message: RunningMessage): LiveRun {
    const { id } = message
    const answer = new LiveAnswer(this.#platform.policy.stream.bufferLength)
    const run = { message, answer }
    this.#runs.set(id, run)
    for (const feed of this.#feedsOf(id)) feed.follow(message, answer)
    return {
      emit: (chunk) => {
        // An agent in plain JavaScript can emit any value.
        if (typeof chunk !== 'string' || this.#runs.get(id) !== run) return
        answer.append(chunk)
        for (const feed of this.#feedsOf(id)) feed.serve()
      },
      end: () => {
        if (this.#runs.get(id) === run) this.#runs.delete(id)
      },
    }
  }

  /**
   * Opens a stream behind the event `after`. Returns undefined if the project has too many
   * streams.
   */
  open(message: Message, after?: StreamPosition): AnswerStream | undefined {
    const { signal, policy } = this.#platform
    if (this.#perProject.get(message.projectId) >= policy.stream.maxPerProject) return undefined
    const onEnd = (ended: StreamFeed): void => {
      stopListening()
      this.#remove(ended)
    }
    const feed = new StreamFeed({ message, after, policy: policy.stream, onEnd })
    const stopListening = signal.listen(message.id, (heard) =>
      heard ? feed.show(heard) : void this.#read([feed]),
    )
    this.#add(feed)
    const run = this.#runs.get(message.id)
    if (run) feed.follow(run.message, run.answer)
    if (this.#isClosed) feed.finish()
    void this.#poll()
    return feed.stream
  }

  /** Ends every stream after the events that there are now. */
  close(): void {
    this.#isClosed = true
    for (const feed of this.#allFeeds()) feed.finish()
  }

  #feedsOf(messageId: string): Iterable<StreamFeed> {
    return this.#feeds.get(messageId) ?? []
  }

  #allFeeds(): StreamFeed[] {
    return [...this.#feeds.values()].flatMap((feeds) => [...feeds])
  }

  #add(feed: StreamFeed): void {
    const { id, projectId } = feed.message
    const feeds = this.#feeds.get(id) ?? new Set()
    this.#feeds.set(id, feeds.add(feed))
    this.#perProject.add(projectId, 1)
  }

  #remove(feed: StreamFeed): void {
    const { id, projectId } = feed.message
    const feeds = this.#feeds.get(id)
    if (feeds?.delete(feed) && feeds.size === 0) this.#feeds.delete(id)
    this.#perProject.add(projectId, -1)
  }

  /** Runs while streams are open. */
  async #poll(): Promise<void> {
    if (this.#isPolling) return
    const { clock, policy } = this.#platform
    this.#isPolling = true
    while (this.#feeds.size > 0 && !this.#isClosed) {
      await clock.sleep(policy.pollMs)
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
    const found = await this.#platform.storage.messages.find([...ids])
    if (found.isErr()) return
    const messages = new Map(found.value.map((message) => [message.id, message]))
    for (const feed of feeds) {
      const message = messages.get(feed.message.id)
      if (message) feed.show(message)
      else feed.finish()
    }
  }
}
