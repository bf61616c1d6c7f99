import { APIError } from 'openai'

/** Returns the error of a call that the API refuses. */
export async function errorOf(call: Promise<unknown>): Promise<APIError> {
  const thrown: unknown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (thrown instanceof APIError) return thrown
  throw new Error('expected an error of the API')
}
