import type { createHttpApp } from '../src/app.js'
import { openApiDocument, type Documented } from '../src/document/document.js'
import { describedRoutes } from '../src/document/operations.js'
import { contractOf, type Document } from './contract.js'

type App = ReturnType<typeof createHttpApp>

const contracts = new Map<string, ReturnType<typeof contractOf>>()

/** Shares one document among scenes with equal routes. */
function contractFor({ routes }: App, documented: Documented): ReturnType<typeof contractOf> {
  const likeness = JSON.stringify([
    documented,
    describedRoutes(routes).map(({ method, path, notes }) => [method, path, notes.security]),
  ])
  const contract =
    contracts.get(likeness) ?? contractOf(openApiDocument(routes, documented) as Document)
  contracts.set(likeness, contract)
  return contract
}

/** Makes the app throw if an answer does not match its own OpenAPI document. */
export function underContract(app: App, documented: Documented) {
  const contract = contractFor(app, documented)
  const { fetch } = app
  app.fetch = async (request, ...rest) => {
    const response = await fetch(request, ...rest)
    const { pathname } = new URL(request.url)
    refuse(
      `${request.method} ${pathname} → ${response.status}`,
      await contract.problemsOf(request.method, pathname, response),
    )
    return response
  }
  const checkSent = (method: string, path: string, body: unknown): void =>
    refuse(`${method} ${path} took`, contract.sentProblems(method, path.replace(/\?.*/, ''), body))
  return { app, checkSent }
}

function refuse(what: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(`${what}: ${problems.join('; ')} (see /openapi.json)`)
}
