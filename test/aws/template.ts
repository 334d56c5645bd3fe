/** Reads a CloudFormation template as CloudFormation would carry it out: references become names and ARNs. */

export const account = "123456789012";
export const region = "eu-central-1";

export interface Resource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}

export interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs?: Readonly<Record<string, { readonly Value: unknown }>>;
}

export class Resolved {
  readonly #template: Template;
  /** Where things are reached that have an address: a queue, the function URL. */
  readonly #endpoint: string;

  constructor(template: Template, endpoint: string) {
    this.#template = template;
    this.#endpoint = endpoint;
  }

  /** The resources of a type, by their logical names, with all references resolved. */
  all(type: string): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
    const found = Object.entries(this.#template.Resources).filter(([, resource]) => resource.Type === type);
    return new Map(found.map(([id, { Properties }]) => [id, this.resolve(Properties) as Record<string, unknown>]));
  }

  /** What the stack tells whoever deploys it, by a part of the output's name. */
  output(part: string): string {
    const found = Object.entries(this.#template.Outputs ?? {}).find(([name]) => name.includes(part));
    return String(this.resolve(found?.[1].Value));
  }

  /** Resolves the intrinsic functions in a value. @throws where it knows one of them not */
  resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.resolve(item));
    if (typeof value !== "object" || value === null) return value;
    const [[name, argument] = ["", undefined], ...others] = Object.entries(value);
    if (others.length > 0 || !(name === "Ref" || name.startsWith("Fn::")))
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.resolve(item)]));
    switch (name) {
      case "Ref":
        return this.#ref(String(argument));
      case "Fn::GetAtt": {
        const [id, attribute] = argument as [string, string];
        return this.#attribute(id, attribute);
      }
      case "Fn::Join": {
        const [separator, items] = this.resolve(argument) as [string, string[]];
        return items.join(separator);
      }
      case "Fn::Sub":
        return String(argument).replace(/\$\{([^}]+)\}/g, (_, ref: string) => this.#ref(ref));
      case "Fn::Select": {
        const [index, items] = this.resolve(argument) as [number, unknown[]];
        return items[Number(index)];
      }
      case "Fn::Split": {
        const [separator, text] = this.resolve(argument) as [string, string];
        return text.split(separator);
      }
      default:
        throw new Error(`the template uses ${name}, which this reader does not know`);
    }
  }

  #ref(name: string): string {
    const pseudo: Readonly<Record<string, string>> = {
      "AWS::AccountId": account,
      "AWS::Partition": "aws",
      "AWS::Region": region,
      "AWS::URLSuffix": "amazonaws.com",
      "AWS::StackName": "Orders",
      "AWS::StackId": "stack",
    };
    const known = pseudo[name];
    if (known !== undefined) return known;
    const resource = this.#template.Resources[name];
    if (resource === undefined) return name; // a parameter of the template: its name stands for it
    const { Type, Properties } = resource;
    if (Type === "AWS::SQS::Queue") return `${this.#endpoint}/${account}/${name}`;
    if (Type === "AWS::Lambda::Function") return String(this.resolve(Properties["FunctionName"] ?? name));
    if (Type === "AWS::SSM::Parameter") return String(this.resolve(Properties["Name"]));
    return name;
  }

  #attribute(id: string, attribute: string): string {
    const name = this.#ref(id);
    if (attribute === "FunctionUrl") return `${this.#endpoint}/`;
    if (attribute === "QueueName" || attribute === "Name") return id;
    switch (this.#template.Resources[id]?.Type) {
      case "AWS::IAM::Role":
        return `arn:aws:iam::${account}:role/${id}`;
      case "AWS::Lambda::Function":
        return `arn:aws:lambda:${region}:${account}:function:${name}`;
      case "AWS::SQS::Queue":
        return `arn:aws:sqs:${region}:${account}:${id}`;
      case "AWS::Logs::LogGroup":
        return `arn:aws:logs:${region}:${account}:log-group:${id}:*`;
      default:
        return `${id}.${attribute}`;
    }
  }
}
