import { readFileSync } from 'node:fs'
import {
  ATTEMPT_CLASSES,
  COUNTED,
  RESPONSE_TIMES_MS,
  STATS_STEPS,
} from '@org/agent-messaging-core/host'
import { createServer, type RunningServer } from '@org/agent-messaging-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Operation = {
  readonly security?: readonly Record<string, readonly string[]>[]
  readonly 'x-errors': readonly { readonly status: number; readonly code: string }[]
}
type OpenApi = { readonly paths: Record<string, Record<string, Operation>> }

/** The routes of the documentation are not operations of the document. */
const UNDOCUMENTED = ['GET /openapi.json -', 'GET /docs -', 'GET /schemas/events/{file} -']
const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const read = (file: string): string =>
  readFileSync(new URL(`../docs/${file}`, import.meta.url), 'utf8')
/** Returns the cells of each row of the table with this head. */
const table = (page: string, head: string): string[][] =>
  (page.split(`${head}\n`)[1]?.split('\n\n')[0] ?? '')
    .split('\n')
    .slice(1)
    .map((row) => row.split(/(?<!\\)\|/).slice(1, -1))
const inCode = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)

let server: RunningServer
let openapi: OpenApi
beforeAll(async () => {
  server = await createServer({
    port: 0,
    databasePath: ':memory:',
    masterKey: new Uint8Array(32),
    openMetrics: true,
  })
  openapi = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApi
})
afterAll(() => server.stop())

describe('a server has', () => {
  it('the routes that api.md lists, with the permissions that it gives', () => {
    const page = read('api.md')
    const listed = table(page, '| route | permission | |').flatMap(
      ([routes = '', permission = '']) =>
        routesIn(inCode(routes)).map(
          (route) =>
            `${route} ${inCode(permission).find((name) => name.startsWith('project:')) ?? '-'}`,
        ),
    )
    const [, first = ''] = /^`(POST \S+)`, permission `project:message`/m.exec(page) ?? []
    const there = Object.entries(openapi.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).map(
        (method) => `${method.toUpperCase()} ${path} ${permissionOf(item[method])}`,
      ),
    )
    expect([...listed, `${asInOpenApi(first)} project:message`].toSorted()).toEqual(
      [...there, ...UNDOCUMENTED].toSorted(),
    )
  })

  it('the errors that api.md lists', () => {
    const listed = table(read('api.md'), '| status | code | when |').map(
      ([status = '', code = '']) => `${status.trim()} ${inCode(code)[0]}`,
    )
    const there = Object.values(openapi.paths).flatMap((item) =>
      Object.values(item).flatMap(errorsOf),
    )
    const ofNoRoute = '405 METHOD_NOT_ALLOWED'
    expect(listed).toEqual([...new Set([...there, ofNoRoute])].toSorted())
  })

  it('the counts, steps, classes and buckets that api.md lists', () => {
    const counts = table(read('api.md'), '| count | what it counts | when |')
    const listed = counts.flatMap(([names = '']) => inCode(names))
    const there = [...Object.keys(COUNTED), 'byClass', 'byTime']
    expect(listed.toSorted()).toEqual(there.toSorted())
    const steps = table(read('api.md'), '| `step` | kept | without `from` |')
    expect(steps.flatMap(([step = '']) => inCode(step))).toEqual(Object.keys(STATS_STEPS))
    const text = read('api.md').replaceAll(/\s+/g, ' ')
    for (const name of ATTEMPT_CLASSES) expect(text).toContain(`\`${name}\``)
    const seconds = RESPONSE_TIMES_MS.map((ms) => (ms / 1_000).toLocaleString('en'))
    expect(text).toContain(`${seconds.slice(0, -1).join(', ')} and ${seconds.at(-1)} s`)
  })

  it('the metrics that operations.md lists', async () => {
    const listed = table(read('operations.md'), '| metric | labels | |').flatMap(([names = '']) =>
      inCode(names),
    )
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    const there = [...metrics.matchAll(/^# TYPE agent_messaging_(\S+)/gm)].map(
      ([, name = '']) => name,
    )
    expect(listed.toSorted()).toEqual(there.toSorted())
  })
})

/** Expands a route without a method next to the one before: `POST /a/b`, `/c` has `POST /a/c`. */
function routesIn(codes: readonly string[]): string[] {
  let methods = ''
  let folder = ''
  return codes.flatMap((code) => {
    const [, ownMethods, path = ''] = /^(?:([A-Z, ]+) )?(\/\S+)$/.exec(code) ?? []
    if (ownMethods !== undefined) {
      methods = ownMethods
      folder = path.slice(0, path.lastIndexOf('/'))
    }
    return methods
      .split(', ')
      .map((method) => asInOpenApi(`${method} ${ownMethods === undefined ? folder + path : path}`))
  })
}

const asInOpenApi = (route: string): string =>
  route.replaceAll(/:(\w+)/g, '{$1}').replace('{event}.json', '{file}')

const permissionOf = (operation: Operation | undefined): string =>
  operation?.security?.flatMap(({ projectKey = [] }) => projectKey)[0] ?? '-'

const errorsOf = ({ 'x-errors': errors }: Operation): string[] =>
  errors.map(({ status, code }) => `${status} ${code}`)
