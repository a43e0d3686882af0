import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { codegen } from "@graphql-codegen/core";
import * as schemaPlugin from "@graphql-codegen/typescript";
import * as operationsPlugin from "@graphql-codegen/typescript-operations";
import { parse, printSchema, type DocumentNode, type GraphQLSchema } from "graphql";
import ts from "typescript";

/** What each scalar of ours is in TypeScript; one that is not told is an error. */
const scalars = { DateTime: "string", JSON: "unknown", Long: "number", UUID: "string" };
const config = { scalars, strictScalars: true, enumsAsTypes: true };

/** The types of a schema, as the generator that most people use makes them. */
export function schemaTypes(schema: GraphQLSchema): Promise<string> {
  return codegen({
    filename: "schema.ts",
    schema: parse(printSchema(schema)),
    schemaAst: schema,
    documents: [],
    plugins: [{ schema: {} }],
    pluginMap: { schema: schemaPlugin },
    config,
  });
}

/** The types of what operations take and of what they answer. */
export function operationTypes(schema: GraphQLSchema, document: DocumentNode): Promise<string> {
  return codegen({
    filename: "operations.ts",
    schema: parse(printSchema(schema)),
    schemaAst: schema,
    documents: [{ location: "operations.graphql", document }],
    plugins: [{ operations: {} }],
    pluginMap: { operations: operationsPlugin },
    config,
  });
}

/** What the compiler says to these files. */
export function compile(files: Record<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), "carillon-codegen-"));
  try {
    const paths = Object.entries(files).map(([name, text]) => {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    });
    const program = ts.createProgram(paths, {
      strict: true,
      noEmit: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      allowImportingTsExtensions: true,
      types: [],
    });
    return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
      const line = file ? file.getLineAndCharacterOfPosition(start ?? 0).line + 1 : 0;
      const name = file?.fileName.split("/").at(-1) ?? "";
      return `${name}:${line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
