import { isFinal, type Message, type MessageStateKind } from '../../domain/message.js'
import { positionText, type StreamPosition } from '../../domain/stream-position.js'
import type { LiveAnswer, Piece } from './live-answer.js'

/** What a stream of one message is made of. `id` tells a later stream where to go on. */
export type StreamEvent =
  /** Where the message stands; the first event unless it is final. Pieces of an earlier attempt than this one's count no more. */
  | { readonly kind: 'state'; readonly id: string; readonly message: Message }
  /** The running process has it from the agent. Its offset is where the last piece ended, unless some were lost. */
  | ({ readonly kind: 'chunk'; readonly id: string; readonly attempt: number } & Piece)
  /** The message is final: the last event. */
  | { readonly kind: 'message'; readonly id: string; readonly message: Message }
  /** Nothing has happened for a while. */
  | { readonly kind: 'heartbeat' }

/** One reader's place in the stream of a message. */
export type StreamReader = {
  /** A look at the message, by whatever way it came: an older one than the last changes nothing. */
  see(message: Message): void
  /** This process runs the message, and shows here what the agent emits. */
  follow(message: Message, answer: LiveAnswer): void
  /** The next event; undefined when there is nothing to tell. */
  take(): StreamEvent | undefined
}

export function createStreamReader(first: Message, after?: StreamPosition): StreamReader {
  let seen = first
  let told: Message | undefined
  let live: { readonly attempt: number; readonly answer: LiveAnswer } | undefined
  let offset =
    after?.attempt === first.attempt && typeof after.offset === 'number' ? after.offset : 0

  function see(message: Message): void {
    if (isOlder(message, seen)) return
    if (message.attempt !== seen.attempt) offset = 0
    seen = message
  }

  function takePiece(): StreamEvent | undefined {
    const piece = live?.attempt === seen.attempt ? live.answer.pieceFrom(offset) : undefined
    if (!piece) return undefined
    offset = piece.offset + piece.text.length
    return {
      kind: 'chunk',
      id: positionText({ attempt: seen.attempt, offset }),
      attempt: seen.attempt,
      ...piece,
    }
  }

  function takeState(): StreamEvent | undefined {
    if (told && told.attempt === seen.attempt && told.state.kind === seen.state.kind)
      return undefined
    told = seen
    return { kind: 'state', id: positionText({ attempt: seen.attempt, offset }), message: seen }
  }

  return {
    see,
    follow(message, answer) {
      see(message)
      live = { attempt: message.attempt, answer }
    },
    take: () =>
      isFinal(seen.state)
        ? (takePiece() ?? {
            kind: 'message',
            id: positionText({ attempt: seen.attempt, offset: seen.state.kind }),
            message: seen,
          })
        : (takeState() ?? takePiece()),
  }
}

/** The order in which an attempt goes through the states; a message is queued before its first attempt or after one. */
const ORDER: readonly MessageStateKind[] = ['running', 'deferred', 'queued']

/** Reads and signals overtake each other. What is final is never old news: a retry counts its attempts from the first. */
function isOlder(message: Message, than: Message): boolean {
  if (isFinal(message.state)) return false
  if (message.attempt !== than.attempt) return message.attempt < than.attempt
  return isFinal(than.state) || ORDER.indexOf(message.state.kind) < ORDER.indexOf(than.state.kind)
}
