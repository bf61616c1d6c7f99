import { failure, success, type PortResult } from '../ports/port-result.js'

/**
 * True if an `import` of an optional package failed because the package is not installed. A file that
 * an installed package lacks is another error.
 */
export function isMissing(error: unknown, name: string): boolean {
  const { code = '', message = '' } = error as { readonly code?: string; readonly message?: string }
  const quoted = message.replaceAll('"', "'")
  return (
    /^(?:ERR_)?MODULE_NOT_FOUND$/.test(code) &&
    [`'${name}'`, `'${name}/`].some((start) => quoted.includes(start))
  )
}

/** Names the command that installs an optional package. Continues a sentence. */
export const needsPackage = (name: string): string =>
  `needs the package ${name}: npm install ${name}`

/** Says that the parts of a runtime need a package. Rejects if they do not load for another reason. */
export const partsWith = <T>(name: string, loading: Promise<T>): Promise<PortResult<T, string>> =>
  loading.then(success, (error: unknown) => {
    const needs = needsPackage(name)
    if (error instanceof Error && error.message === needs) return failure(needs)
    throw error
  })
