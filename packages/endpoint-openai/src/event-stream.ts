import { errorObject, refusalOf } from './errors.js'

/** The last line of every stream of these APIs. */
export const DONE = 'data: [DONE]\n\n'

const INTERRUPTED = errorObject({
  type: 'server_error',
  code: 'stream_interrupted',
  message: 'The stream ended before the answer. The agent continues: read the response later',
})

/** Returns the error of a stream that ends before the answer. */
export const interruption = (code: string) =>
  code === 'UNAUTHORIZED' ? errorObject(refusalOf({ kind: 'unauthorized' })) : INTERRUPTED
