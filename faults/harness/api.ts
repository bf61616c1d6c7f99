import { API_KEY } from './settings.js'

type Method = 'GET' | 'POST' | 'DELETE'
const LIMIT_MS = 8_000

/** Sends a request with the project's key. Rejects if the connection breaks or no answer comes. */
export function request(
  url: string,
  method: Method,
  route: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url + route, {
    method,
    headers: {
      authorization: `Bearer ${API_KEY}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(LIMIT_MS),
  })
}

/** Returns the JSON of a 2xx. Rejects for other answers. */
export async function json<T>(
  url: string,
  method: Method,
  route: string,
  body?: unknown,
): Promise<T> {
  const response = await request(url, method, route, body)
  if (!response.ok)
    throw new Error(`${method} ${route} → ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}

/** Returns all rows of a list. */
export async function all<Row>(url: string, route: string): Promise<Row[]> {
  const rows: Row[] = []
  const mark = route.includes('?') ? '&' : '?'
  for (let cursor = ''; ;) {
    const page = await json<{ data: Row[]; nextCursor: string | null }>(
      url,
      'GET',
      `${route}${mark}limit=100${cursor}`,
    )
    rows.push(...page.data)
    if (page.nextCursor === null) return rows
    cursor = `&cursor=${page.nextCursor}`
  }
}
