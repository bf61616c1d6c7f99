import { randomUUID } from 'node:crypto'

/** The API's answer to a request that cannot be parsed. */
export function badRequest(): Response {
  const requestId = randomUUID()
  return Response.json(
    {
      error: { code: 'BAD_REQUEST', message: 'the path or the Host header is not valid' },
      requestId,
    },
    { status: 400, headers: { 'Cache-Control': 'no-store', 'X-Request-Id': requestId } },
  )
}
