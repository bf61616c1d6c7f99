import type { ResolveHook } from 'node:module'

/** The modules that replace the server's imports. */
const WRAPPED: Readonly<Record<string, string>> = {
  '@org/agent-messaging-adapter-sqlite': './sqlite.js',
  '@org/agent-messaging-adapter-postgres': './postgres.js',
  '@org/agent-messaging-adapter-outbound': './outbound.js',
  '@org/agent-messaging-core/node': './platform.js',
}
const OURS = new URL('.', import.meta.url).href

export const resolve: ResolveHook = (specifier, context, next) => {
  const wrapped = WRAPPED[specifier]
  if (wrapped === undefined || context.parentURL?.startsWith(OURS)) return next(specifier, context)
  return { url: new URL(wrapped, import.meta.url).href, shortCircuit: true }
}
