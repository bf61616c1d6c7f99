// The parts of an OpenAPI document that the reference page shows.

export type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly contentSchema?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly additionalProperties?: Schema | boolean
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
  readonly examples?: readonly unknown[]
}
export type Content = Readonly<Record<string, { readonly schema: Schema }>>
export type Parameter = {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}
export type Answer = {
  readonly $ref?: string
  readonly description: string
  readonly content?: Content
}
export type Operation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, Answer>>
  readonly 'x-errors'?: readonly OperationError[]
}
export type OperationError = {
  readonly status: number
  readonly code: string
  readonly message: string
}
export type Document = {
  readonly info: { readonly title: string; readonly description: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly responses: Readonly<Record<string, Answer>>
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>
  }
}

/** Follows a reference within the document. */
export function resolved<T extends { readonly $ref?: string }>(
  components: Readonly<Record<string, T>>,
  one: T,
): T {
  return one.$ref === undefined ? one : (components[nameIn(one.$ref)] ?? one)
}

/** Returns `Agent` for `#/components/schemas/Agent`. */
export const nameIn = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1)
