import type { Message, RunningMessage } from '../../domain/message.js'
import type { StreamPosition } from '../../domain/stream-position.js'
import type { Platform } from '../../platform.js'
import { createLiveAnswer } from './live-answer.js'
import { createStreamReader, type StreamReader } from './stream-reader.js'
import { createStreamSeat, type AnswerStream, type StreamSeat } from './stream-seat.js'
import { tally } from '../tally.js'

/**
 * Where messages are followed: the pieces of answers come from the runs of this process, states and the final message from
 * wherever they come about. Who follows a message changes nothing for it.
 */
export type AnswerStreams = {
  /** A run begins: readers of its message, and those who come while it goes on, are shown what it emits. */
  begin(message: RunningMessage): LiveRun
  /** Follows a message, from where a reader has come to; undefined when its project has as many streams as it may have. */
  open(message: Message, after?: StreamPosition): AnswerStream | undefined
  /** Every stream ends with what there is to tell now. */
  close(): void
}

/** `emit` never throws; after `end` it does nothing. */
export type LiveRun = { emit(chunk: string): void; end(): void }

type Follower = {
  readonly message: Message
  readonly reader: StreamReader
  readonly seat: StreamSeat
}

/** Messages of one poll: each is read whole, and may be long. Of more than these, each has its turn in one of the next polls. */
const MOST_POLLED = 100

export function createAnswerStreams(
  d: Pick<Platform, 'storage' | 'signal' | 'clock' | 'policy'>,
): AnswerStreams {
  const runs = new Map<string, (follower: Follower) => void>()
  const followers = new Map<string, Set<Follower>>()
  const perProject = new Map<string, number>()
  let size = 0
  let closed = false
  let polling = false

  const all = (): Follower[] => [...followers.values()].flatMap((some) => [...some])

  /** Those of the messages whose turn it is, which then stand behind the others. */
  function inTurn(): Follower[] {
    const turn = [...followers].slice(0, MOST_POLLED)
    for (const [id, some] of turn) {
      followers.delete(id)
      followers.set(id, some)
    }
    return turn.flatMap(([, some]) => [...some])
  }

  /** The signal is fast, the poll is sure (S§8): one query for all streams, for as long as there are any. */
  async function poll(): Promise<void> {
    if (polling) return
    polling = true
    while (size > 0 && !closed) {
      await d.clock.sleep(d.policy.pollMs)
      await look(inTurn())
      for (const { seat } of all()) seat.pass(d.policy.pollMs)
    }
    polling = false
  }

  async function look(at: readonly Follower[]): Promise<void> {
    const found = await d.storage.messages.find([...new Set(at.map(({ message }) => message.id))])
    if (found.isErr()) return
    const messages = new Map(found.value.map((message) => [message.id, message]))
    for (const follower of at) {
      const message = messages.get(follower.message.id)
      if (message) show(follower, message)
      else follower.seat.finish()
    }
  }

  function show({ reader, seat }: Follower, message: Message): void {
    reader.see(message)
    seat.serve()
  }

  function enter(message: Message, after: StreamPosition | undefined): AnswerStream {
    const reader = createStreamReader(message, after)
    const onLeave = (): void => {
      stopListening()
      count(follower, -1)
    }
    const follower = {
      message,
      reader,
      seat: createStreamSeat({ ...d.policy.stream, reader, onLeave }),
    }
    const stopListening = d.signal.listen(message.id, (heard) =>
      heard ? show(follower, heard) : void look([follower]),
    )
    count(follower, 1)
    runs.get(message.id)?.(follower)
    if (closed) follower.seat.finish()
    void poll()
    return follower.seat.stream
  }

  function count(follower: Follower, by: 1 | -1): void {
    const { id, projectId } = follower.message
    const some = followers.get(id) ?? new Set()
    if (by === 1) followers.set(id, some.add(follower))
    else if (some.delete(follower) && some.size === 0) followers.delete(id)
    tally(perProject, projectId, by)
    size += by
  }

  return {
    begin(message) {
      const answer = createLiveAnswer(d.policy.stream.bufferLength)
      const follow = ({ reader, seat }: Follower): void => {
        reader.follow(message, answer)
        seat.serve()
      }
      runs.set(message.id, follow)
      followers.get(message.id)?.forEach(follow)
      const isOn = (): boolean => runs.get(message.id) === follow
      return {
        emit(chunk) {
          // An agent in plain JavaScript may emit anything: it must not hurt.
          if (typeof chunk !== 'string' || !isOn()) return
          answer.append(chunk)
          followers.get(message.id)?.forEach(({ seat }) => seat.serve())
        },
        end() {
          if (isOn()) runs.delete(message.id)
        },
      }
    },
    open(message, after) {
      const full = (perProject.get(message.projectId) ?? 0) >= d.policy.stream.maxPerProject
      return full ? undefined : enter(message, after)
    },
    close() {
      closed = true
      for (const { seat } of all()) seat.finish()
    },
  }
}
