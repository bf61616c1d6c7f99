import { failedRun, type FinishedRun } from '../domain/run.js'
import type { RunRequest } from '../ports/agent-runtime.js'

type Collecting = Pick<RunRequest, 'emit'> & {
  readonly signal: AbortSignal
  readonly maxLength: number
}

/**
 * Emits each piece and returns all pieces joined. Ends the iteration when the signal aborts, a
 * piece is not a string, or the answer is too long. Rejects with the error that the iteration
 * throws.
 */
export async function collectPieces(
  pieces: AsyncIterable<string>,
  { emit, signal, maxLength }: Collecting,
): Promise<FinishedRun> {
  const iterator = pieces[Symbol.asyncIterator]()
  let response = ''
  for (;;) {
    const next = await nextOrAbort(iterator, signal)
    if (next === 'aborted')
      return leave(iterator, failedRun('RUNTIME_ERROR', 'the run was aborted'))
    if (next.done) return { kind: 'answered', response }
    if (typeof next.value !== 'string')
      return leave(iterator, failedRun('RESPONSE_INVALID', 'a piece of the answer is not a string'))
    response += next.value
    if (response.length > maxLength) return leave(iterator, tooLong(maxLength))
    emit(next.value)
  }
}

function nextOrAbort(
  iterator: AsyncIterator<string>,
  signal: AbortSignal,
): Promise<IteratorResult<string> | 'aborted'> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve('aborted')
    const onAbort = (): void => resolve('aborted')
    signal.addEventListener('abort', onAbort)
    iterator
      .next()
      .finally(() => signal.removeEventListener('abort', onAbort))
      .then(resolve, reject)
  })
}

/**
 * Ends the iteration without waiting for it, because an agent ends only at its next step. Ignores
 * errors of that end.
 */
function leave(iterator: AsyncIterator<string>, run: FinishedRun): FinishedRun {
  void (async () => iterator.return?.())().catch(() => undefined)
  return run
}

const tooLong = (maxLength: number): FinishedRun =>
  failedRun('RESPONSE_INVALID', `the answer has more than ${maxLength} characters`)
